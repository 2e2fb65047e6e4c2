// The first messages of a session, fetched when its row becomes visible.

import { get, part } from "./api.js";
import { h, replace } from "./dom.js";
import { speaker } from "./parts.js";

/** True if a message says no more than the title of its session. */
export const repeats = (text, title) =>
  Boolean(title) &&
  text.trim().replace(/[.…]$/, "").startsWith(title.replace(/…$/, "")) &&
  text.length <= title.length + 2;

/** A box that loads the first messages of a session when it becomes visible. */
export function opening(session, signal, count = 3) {
  const lines = h("span.talk-lines", {}, h("span.bone.line"));
  const watcher = new IntersectionObserver(
    async (seen) => {
      if (!seen.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      try {
        const { items } = await get(
          `/v1/sessions/${part(session.id)}/messages`,
          { limit: count, after_seq: "0" },
          signal,
        );
        replace(
          lines,
          items
            .filter((message) => !repeats(message.text, session.title))
            .map((message) =>
              h("span.talk-line", { dir: "auto" }, h("b", {}, `${speaker(message)}: `), message.text.slice(0, 240)),
            ),
        );
      } catch {
        replace(lines);
      }
    },
    { rootMargin: "300px" },
  );
  watcher.observe(lines);
  signal.addEventListener("abort", () => watcher.disconnect());
  return lines;
}
