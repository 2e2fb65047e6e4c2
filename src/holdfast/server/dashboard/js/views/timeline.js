// Timeline: memories and messages by day, newest first.

import { getHere } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { clock, dayName, dayOf, fullDay, named, t } from "../i18n.js";
import { opening } from "../opening.js";
import { memoryLink, sessionLink } from "../parts.js";
import { settings } from "../settings.js";
import { chip, empty, head, kindChip, link, problem, segmented, skeleton, whenNear } from "../ui.js";

const PAGE = 50;

export function view(route, signal) {
  const only = ["learnt", "said"].includes(route.query.only) ? route.query.only : "all";
  const days = h("div.days");
  const end = h("div.list-end");
  const node = h(
    "div.page",
    {},
    head(
      t("nav.timeline"),
      t("timeline.lead"),
      segmented(
        t("timeline.show"),
        [
          ["all", t("timeline.all")],
          ["learnt", t("timeline.learnt")],
          ["said", t("timeline.said")],
        ],
        only,
        (value) => {
          location.hash = value === "all" ? "#/timeline" : `#/timeline?only=${value}`;
        },
      ),
    ),
    days,
    end,
  );
  const streams = [];
  if (only !== "said")
    streams.push(
      stream("/v1/memories", (memory) => ({ at: timeOf(memory), memory })),
      stream("/v1/memories", (memory) => ({ at: timeOf(memory), memory }), { retired: "true" }),
    );
  if (only !== "learnt")
    streams.push(stream("/v1/sessions", (session) => ({ at: session.said_at ?? session.last_at, session })));
  const line = { streams, days, end, signal, busy: false };
  whenNear(end, () => more(line), signal, "600px");
  more(line);
  return { node };
}

/**
 * The time of a memory: since when it is true, unless that is in the future. What was imported or told afterwards stands on its own
 * day, not on the day on which it was stored.
 */
export const timeOf = (memory) =>
  Date.parse(memory.valid_from) < Date.parse(memory.created_at) ? memory.valid_from : memory.created_at;

const stream = (path, read, query = {}) => ({ path, read, query, offset: 0, waiting: [] });

async function fillUp(one, signal) {
  while (!one.waiting.length && one.offset !== null) {
    const page = await getHere(one.path, { ...one.query, limit: PAGE, offset: one.offset }, signal);
    one.offset = page.next_offset ?? null;
    one.waiting.push(...page.items.map(one.read).sort((a, b) => b.at.localeCompare(a.at)));
  }
}

/** Merge the streams, newest first. A stream fetches its next page when its buffer is empty. */
async function more(line) {
  if (line.busy || line.done) return;
  line.busy = true;
  if (!line.days.childElementCount) replace(line.end, skeleton(6));
  try {
    for (let count = 0; count < PAGE; count += 1) {
      await Promise.all(line.streams.map((one) => fillUp(one, line.signal)));
      const [next] = line.streams
        .filter((one) => one.waiting.length)
        .sort((a, b) => Date.parse(b.waiting[0].at) - Date.parse(a.waiting[0].at));
      if (!next) {
        line.done = true;
        break;
      }
      place(line, next.waiting.shift());
    }
    replace(
      line.end,
      line.done &&
        !line.days.childElementCount &&
        empty(t("timeline.empty.title"), t("timeline.empty.body"), {
          name: "timeline",
          actions: [link(t("memories.empty.chat"), "#/chat", { name: "chat" })],
        }),
    );
  } catch (error) {
    if (error.name === "AbortError" || line.signal.aborted) return;
    replace(
      line.end,
      problem(error, () => {
        replace(line.end);
        more(line);
      }),
    );
    return;
  } finally {
    line.busy = false;
  }
  if (!line.done && line.end.isConnected && line.end.getBoundingClientRect().top < window.innerHeight + 400) more(line);
}

function place(line, entry) {
  const day = dayOf(entry.at);
  const boxes = [...line.days.children];
  let box = boxes.find((each) => each.dataset.day === day);
  if (!box) {
    box = h(
      "section.day",
      { dataset: { day } },
      h("h2", {}, h("time", { datetime: day }, dayName(entry.at))),
      h("ol.entries"),
    );
    line.days.insertBefore(box, boxes.find((each) => each.dataset.day < day) ?? null);
  }
  box.lastElementChild.append(entry.memory ? learnt(entry) : said(entry, line.signal));
}

function learnt({ at, memory }) {
  return h(
    "li.entry",
    { class: memory.status === "live" ? "" : "is-retired" },
    h("time.clock", { datetime: at }, clock(at)),
    h("span.knot", { class: "learnt" }),
    h(
      "a.entry-body",
      { href: memoryLink(memory.id), "data-row": true },
      h("span.memory-text", { dir: "auto" }, memory.text),
      h(
        "span.marks",
        {},
        kindChip(memory.kind),
        memory.topic && chip(memory.topic),
        dayOf(memory.created_at) !== dayOf(at) &&
          h("span", {}, t("timeline.stored", { day: fullDay(memory.created_at) })),
        memory.status !== "live" && chip(named("status", memory.status), { class: "retired" }),
      ),
    ),
  );
}

function said({ at, session }, signal) {
  return h(
    "li.entry",
    {},
    h("time.clock", { datetime: at }, clock(at)),
    h("span.knot", { class: "said" }),
    h(
      "a.entry-body.talked",
      { href: sessionLink(session.id), "data-row": true },
      h(
        "span.marks",
        {},
        icon("sessions", 16),
        h("b", { dir: "auto" }, session.title ?? t("timeline.talk")),
        session.user && session.user !== settings.user && chip(session.user),
        session.app && chip(session.app),
        chip(named("session", session.status)),
      ),
      opening(session, signal),
    ),
  );
}
