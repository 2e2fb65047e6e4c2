// The life of facts: one bar per memory over time, with what replaced it and why.

import { h } from "./dom.js";
import { fullDay, monthYear, reasonText, shortDay, t } from "./i18n.js";
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

/** The time axis that all figures of a person share. `place` returns the position of a time in percent. */
export function timeScale(all, now = Date.now()) {
  const spans = all.map((memory) => span(memory, now));
  const first = Math.min(now, ...spans.map((each) => each.from));
  const end = Math.max(now, ...spans.map((each) => each.to));
  const length = Math.max(end - first, DAY);
  const place = (at) => ((at - first) / length) * 100;
  return { first, end, now, place, known: new Map(all.map((memory) => [memory.id, memory])) };
}

const STEPS = [
  ...[1, 2, 7, 14].map((count) => ({ count, next: "Date" })),
  ...[1, 2, 3, 6].map((count) => ({ count, next: "Month" })),
  ...[1, 2, 5, 10, 20, 50, 100].map((count) => ({ count, next: "FullYear" })),
];

/** Round times on the axis, at most `max` of them: days, first days of months, or first days of years. */
export function timeMarks(first, end, max = 5) {
  for (const step of STEPS) {
    const found = roundTimes(first, end, step, max);
    if (found.length <= max) return { times: found, unit: step.next };
  }
  return { times: [], unit: "FullYear" };
}

function roundTimes(first, end, { count, next }, max) {
  const at = new Date(first);
  at.setHours(0, 0, 0, 0);
  if (next !== "Date") at.setDate(1);
  if (next === "Month") at.setMonth(at.getMonth() - (at.getMonth() % count));
  if (next === "FullYear") at.setFullYear(at.getFullYear() - (at.getFullYear() % count), 0, 1);
  const found = [];
  while (at.getTime() <= end && found.length <= max) {
    if (at.getTime() >= first) found.push(at.getTime());
    at[`set${next}`](at[`get${next}`]() + count);
  }
  return found;
}

const NAMES = { Date: shortDay, Month: monthYear, FullYear: (at) => String(new Date(at).getFullYear()) };
const ROOM = 14; // percent of the axis that a label needs

/** The labels of the axis. Labels too close to "today" are left out. */
export function axis({ first, end, now, place }) {
  const { times, unit } = timeMarks(first, end);
  const today = place(now);
  const marks = times.filter((at) => Math.abs(place(at) - today) > ROOM).map((at) => [place(at), NAMES[unit](at)]);
  if (!marks.length && today > ROOM) marks.push([0, fullDay(first)]);
  return h(
    "div.lives-axis",
    { "aria-hidden": "true" },
    [...marks, [today, t("lives.now")]].map(([left, label]) =>
      h(
        "span",
        { class: left > 90 ? "at-end" : left < 6 ? "at-start" : "", style: { left: `${left.toFixed(2)}%` } },
        label,
      ),
    ),
  );
}

/** A figure with one row per memory, on the time axis of all figures. */
export function lives(title, memories, { place, known }) {
  return h(
    "figure.lives",
    {},
    h("figcaption", {}, h("h3", {}, title)),
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
