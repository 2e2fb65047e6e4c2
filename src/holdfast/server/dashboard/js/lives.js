// The life of facts: one bar per memory over time, with what replaced it and why.

import { h } from "./dom.js";
import { fullDay, reasonText, t } from "./i18n.js";
import { memoryLink } from "./parts.js";
import { button, chip, kindChip, tint } from "./ui.js";

const DAY = 86400000;
const SHOWN = 6; // rows of an area before the rest is folded

/** When a memory began and ceased to be true. A live memory without an end lasts until now. */
export function span(memory, now = Date.now()) {
  const from = Date.parse(memory.valid_from);
  const ended = memory.valid_to ?? (memory.status === "live" ? null : (memory.retired_at ?? memory.updated_at));
  const to = ended ? Date.parse(ended) : now;
  return { from, to: Math.max(from, to), isOpen: ended === null || to > now };
}

/** Sort memories so that each is followed by the one that replaced it: by the first day of the chain, newest chain first. */
export function inChains(memories) {
  const known = new Map(memories.map((memory) => [memory.id, memory]));
  const last = (memory) => {
    const seen = new Set();
    let at = memory;
    while (known.has(at.replaced_by) && !seen.has(at.id)) {
      seen.add(at.id);
      at = known.get(at.replaced_by);
    }
    return at.id;
  };
  const chains = new Map();
  for (const memory of memories) chains.set(last(memory), [...(chains.get(last(memory)) ?? []), memory]);
  const start = (memory) => Date.parse(memory.valid_from);
  return [...chains.values()]
    .map((chain) => chain.sort((a, b) => start(a) - start(b)))
    .sort((a, b) => start(b.at(-1)) - start(a.at(-1)))
    .flat();
}

/** A figure with one row per memory. `all` are the memories of all figures: they share one time axis and have the successors. */
export function lives(title, memories, all) {
  const spans = all.map((memory) => span(memory));
  const now = Date.now();
  const first = Math.min(...spans.map((each) => each.from));
  const end = Math.max(now, ...spans.map((each) => each.to));
  const length = Math.max(end - first, DAY);
  const place = (at) => ((at - first) / length) * 100;
  const known = new Map(all.map((memory) => [memory.id, memory]));
  return h(
    "figure.lives",
    {},
    h(
      "figcaption",
      {},
      h("h3", {}, title),
      h("span.lives-axis", {}, h("span", {}, fullDay(first)), h("span", {}, t("lives.now"))),
    ),
    folded(inChains(memories), (memory) => life(memory, place, known)),
  );
}

/** A list that shows its first rows, and the others after a click. */
function folded(items, draw) {
  const few = items.length > SHOWN + 2 ? SHOWN : items.length;
  const list = h("ul", {}, items.slice(0, few).map(draw));
  if (few === items.length) return list;
  const all = button(
    t("lives.all", { n: items.length }),
    () => {
      const rest = items.slice(few).map(draw);
      list.append(...rest);
      all.remove();
      rest[0].querySelector("a")?.focus();
    },
    { kind: "small quiet", dataset: { action: "all" } },
  );
  return [list, all];
}

function life(memory, place, known) {
  const { from, to, isOpen } = span(memory);
  const width = Math.max(place(to) - place(from), 1.2);
  return h(
    "li",
    {},
    h(
      "a.life",
      { href: memoryLink(memory.id), "data-row": true, class: memory.status === "live" ? "" : "is-retired" },
      h("span.memory-text", { dir: "auto" }, memory.text),
      h(
        "span.life-track",
        { "aria-hidden": "true" },
        h("span.life-bar", {
          class: `tint-${tint(memory.kind)}${isOpen ? " is-open" : ""}`,
          style: { left: `${Math.min(place(from), 100 - width).toFixed(2)}%`, width: `${width.toFixed(2)}%` },
        }),
      ),
      h(
        "span.marks",
        {},
        kindChip(memory.kind),
        memory.key && chip(memory.key, { class: "key", title: t("memory.key") }),
        memory.app && chip(memory.app, { class: "app", title: t("memory.app") }),
        h(
          "span",
          {},
          isOpen
            ? t("lives.since", { from: fullDay(from) })
            : t("lives.between", { from: fullDay(from), to: fullDay(to) }),
        ),
      ),
      ending(memory, known),
    ),
  );
}

/** What ended a memory: its successor, or that it was forgotten or expired, and the reason. */
function ending(memory, known) {
  if (memory.status === "live") return null;
  const successor = known.get(memory.replaced_by);
  const what = successor
    ? t("lives.replaced", { text: successor.text })
    : t(`retired.${["superseded", "forgotten", "expired"].includes(memory.status) ? memory.status : "forgotten"}`);
  return h(
    "span.life-end",
    { dir: "auto" },
    what,
    memory.reason && ` ${t("memory.because", { reason: reasonText(memory.reason) })}`,
  );
}
