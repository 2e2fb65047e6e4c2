"""Scope: the owner of data, and what a reader may see."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory it is. A missing part means shared."""

    tenant: str = "default"
    app: str | None = None
    user: str | None = None
    agent: str | None = None
    also_apps: tuple[str, ...] = ()
    """Of a reader: other apps that chose to share their memories with its app. An owner has none."""

    def sees(self, owner: "Scope") -> bool:
        """Tell whether a reader in this scope may see what ``owner`` holds."""
        return (
            self.tenant == owner.tenant
            and owner.app in (None, self.app, *self.also_apps)
            and owner.user in (None, self.user)
            and owner.agent in (None, self.agent)
        )
