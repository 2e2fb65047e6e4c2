// Proposals: changes that wait for a person's decision, next to the memories that they would replace.

import { get, getHere, part, post } from "../../api.js";
import { h } from "../../dom.js";
import { percent, t } from "../../i18n.js";
import { marks, memoryLink } from "../../parts.js";
import { attempt, button, empty, endless, toast } from "../../ui.js";

const REPLACES = "proposes_to_replace";

export function section(signal) {
  return endless(
    (offset) => getHere("/v1/proposals", { limit: 50, offset }, signal),
    (memory) => row(memory, signal),
    {
      signal,
      whenEmpty: () => empty(t("proposals.none.title"), t("proposals.none.body"), { name: "check" }),
    },
  );
}

function row(memory, signal) {
  const old = h("div.proposal-old");
  const node = h(
    "div.row.proposal",
    { dataset: { id: memory.id } },
    h("p.memory-text", { dir: "auto" }, memory.text),
    marks(memory, h("span", {}, t("proposals.trust", { value: percent(memory.trust) }))),
    old,
    h(
      "div.actions",
      {},
      decide("accept", "primary"),
      decide("dismiss", ""),
      h("a.button.quiet", { href: memoryLink(memory.id) }, t("proposals.open")),
    ),
  );
  function decide(what, kind) {
    const act = (event) =>
      attempt(event.currentTarget, async () => {
        await post(`/v1/proposals/${part(memory.id)}/${what}`);
        toast(t(`proposals.${what}.done`));
        node.remove();
      });
    return button(t(`proposals.${what}`), act, { kind: `small ${kind}`, dataset: { action: what } });
  }
  replaced(old, memory.metadata?.[REPLACES] ?? [], signal);
  return node;
}

async function replaced(box, ids, signal) {
  const found = await Promise.allSettled(ids.map((id) => get(`/v1/memories/${part(id)}`, {}, signal)));
  const known = found.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  if (known.length)
    box.replaceChildren(
      h("small.quiet", {}, t("proposals.replaces")),
      ...known.map((memory) => h("p", {}, h("del", { dir: "auto" }, memory.text))),
    );
}
