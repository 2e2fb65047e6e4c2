// Sessions: their messages, and the memories learned from each message.

import { del, get, getHere, part, post } from "../api.js";
import { confirm, losses, showReceipt } from "../dialogs.js";
import { h, icon, replace } from "../dom.js";
import { ago, capital, clock, dateTime, dayName, dayOf, fullDay, named, t } from "../i18n.js";
import { live } from "../live.js";
import { opening } from "../opening.js";
import { memoryLink, sessionLink, speaker } from "../parts.js";
import { go } from "../router.js";
import { settings } from "../settings.js";
import { attempt, button, chip, empty, endless, head, kindChip, link, load, segmented, toast } from "../ui.js";
import { traceChip, tracesOf } from "./trace-links.js";

export function view(route, signal) {
  return {
    node: route.parts[0] ? one(route.parts[0], route.query.m, signal) : overview(route.query.status ?? "", signal),
  };
}

function overview(status, signal) {
  const list = endless(
    (offset) => getHere("/v1/sessions", { status, limit: 50, offset }, signal),
    (session) => sessionRow(session, signal),
    {
      signal,
      whenEmpty: () =>
        empty(t("sessions.empty.title"), t("sessions.empty.body"), {
          name: "sessions",
          actions: [link(t("memories.empty.chat"), "#/chat", { name: "chat" })],
        }),
    },
  );
  return h(
    "div.page",
    {},
    head(
      t("nav.sessions"),
      t("sessions.lead"),
      segmented(
        t("sessions.status"),
        [["", t("sessions.all")], ...["open", "idle", "ended"].map((each) => [each, capital(named("session", each))])],
        status,
        (value) => {
          location.hash = value ? `#/sessions?status=${value}` : "#/sessions";
        },
      ),
    ),
    list,
  );
}

/** The time of a session: relative if it was this week, or else the date. */
function sessionTime(value) {
  return Date.now() - Date.parse(value) < 7 * 86400000 ? ago(value) : fullDay(value);
}

/** A session as a row of a list. The name of `user` is not repeated. */
export function sessionRow(session, signal, user = settings.user) {
  const said = session.said_at ?? session.last_at;
  return h(
    "a.row.session-row",
    { href: sessionLink(session.id), "data-row": true },
    h(
      "span.session-when",
      {},
      h("b", { dir: "auto" }, session.title ?? t("sessions.untitled")),
      h(
        "span.marks",
        {},
        h("time", { datetime: said, title: dateTime(said) }, sessionTime(said)),
        session.status !== "ended" && chip(named("session", session.status), { class: `session-${session.status}` }),
        session.user && session.user !== user && chip(session.user, { class: "user" }),
        session.app && chip(session.app, { class: "app" }),
        session.agent && chip(session.agent),
      ),
    ),
    opening(session, signal, 2),
  );
}

async function messagesOf(id, signal) {
  const found = [];
  for (let after = 0; after !== null && found.length < 5000;) {
    const page = await get(`/v1/sessions/${part(id)}/messages`, { limit: 500, after_seq: String(after) }, signal);
    found.push(...page.items);
    after = page.next_seq ?? null;
  }
  return found;
}

/** Live and retired memories by the message they were derived from. */
async function outcomes(session, signal) {
  const scope = { user: session.user, app: session.app, agent: session.agent };
  const made = new Map();
  for (const retired of ["", "true"]) {
    for (let offset = 0; offset !== null && offset < 3000;) {
      const page = await get("/v1/memories", { ...scope, retired, limit: 500, offset }, signal);
      for (const memory of page.items)
        for (const source of memory.sources ?? []) made.set(source, [...(made.get(source) ?? []), memory]);
      offset = page.next_offset ?? null;
    }
  }
  return made;
}

function one(id, wanted, signal) {
  const box = h("div");
  const fetchAll = async () => {
    const session = await get(`/v1/sessions/${part(id)}`, {}, signal);
    const [messages, made, traces] = await Promise.all([
      messagesOf(id, signal),
      outcomes(session, signal),
      tracesOf(id, signal),
    ]);
    return { session, messages, made, traces };
  };
  let first = true;
  const show = (found) => {
    const node = draw(found);
    if (wanted && first)
      requestAnimationFrame(() => {
        const target = document.getElementById(`m-${wanted}`);
        target?.scrollIntoView({ block: "center" });
        target?.focus({ preventScroll: true });
      });
    first = false;
    return node;
  };
  load(box, fetchAll, show, { rows: 6, shape: "turn", signal });
  live.addEventListener(
    "change",
    async () => {
      try {
        const found = await fetchAll();
        if (!signal.aborted) replace(box, draw(found));
      } catch {
        /* keep showing the previous state */
      }
    },
    { signal },
  );
  return h("div.page", {}, h("a.crumb", { href: "#/sessions" }, icon("back", 16), t("nav.sessions")), box);
}

function draw({ session, messages, made, traces }) {
  let day = null;
  const count = new Set(messages.flatMap((message) => (made.get(message.id) ?? []).map((memory) => memory.id))).size;
  return h(
    "article.session",
    {},
    h(
      "div.session-head",
      {},
      h(
        "div",
        {},
        h("h1", { tabindex: "-1", dir: "auto" }, session.title ?? t("sessions.untitled")),
        h("p.quiet", {}, dateTime(session.started_at)),
        h("p.quiet", {}, t("sessions.messages", { n: messages.length }), " · ", t("sessions.made", { n: count })),
        h(
          "div.marks",
          {},
          chip(named("session", session.status), { class: `session-${session.status}` }),
          session.user && chip(session.user, { class: "user" }),
          session.app && chip(session.app, { class: "app" }),
          h("code.quiet", {}, session.id),
        ),
      ),
      actions(session),
    ),
    h(
      "ol.messages",
      {},
      messages.map((message) => {
        const today = dayOf(message.at);
        const heading = today !== day && h("li.day-mark", {}, dayName(message.at));
        day = today;
        return [heading, messageRow(message, session, made.get(message.id) ?? [], traces.get(message.id))];
      }),
    ),
  );
}

function actions(session) {
  const end = async () => {
    await post(`/v1/sessions/${part(session.id)}/end`);
    toast(t("chat.endedToast"));
  };
  const erase = (event) => eraseIt(session, event.currentTarget);
  return h(
    "div.actions",
    {},
    session.status === "open" && button(t("chat.end"), (event) => attempt(event.currentTarget, end), { name: "check" }),
    button(t("sessions.erase"), erase, { kind: "danger-text", name: "erase", dataset: { action: "erase" } }),
  );
}

function messageRow(message, session, memories, trace) {
  const digested = message.seq <= session.digested_to;
  return h(
    "li.message",
    { id: `m-${message.id}`, tabindex: "-1", class: message.role === "user" ? "mine" : "theirs" },
    h(
      "header",
      {},
      h("b", {}, speaker(message)),
      h("time", { datetime: message.at }, clock(message.at)),
      message.origin !== "user" && message.origin !== message.role && chip(named("origin", message.origin)),
      message.action && chip(named("noise", message.action), { class: "retired" }),
    ),
    h("p.said", { dir: "auto" }, message.text),
    traceChip(trace),
    memories.length > 0
      ? h(
          "ul.came",
          {},
          memories.map((memory) =>
            h(
              "li",
              { class: memory.status === "live" ? "" : "is-retired" },
              h("a", { href: memoryLink(memory.id) }, icon("spark", 14), h("span.memory-text", {}, memory.text)),
              kindChip(memory.kind),
              memory.status !== "live" && chip(named("status", memory.status), { class: "retired" }),
            ),
          ),
        )
      : message.role === "user" && h("p.came-none.quiet", {}, digested ? t("sessions.nothing") : t("sessions.waiting")),
  );
}

async function eraseIt(session, control) {
  const points = await attempt(control, () => losses({ session: session.id }));
  if (!points) return;
  const sure = await confirm({
    title: t("sessions.erase.title"),
    points: [...points, t("erase.point3")],
    action: t("erase.go"),
    danger: true,
  });
  if (!sure) return;
  const receipt = await attempt(control, () => del(`/v1/sessions/${part(session.id)}`));
  if (!receipt) return;
  await go("#/sessions");
  await showReceipt(receipt);
}
