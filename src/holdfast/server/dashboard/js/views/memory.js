// One memory: its text, fields, history, sources and actions.

import { del, get, part, patch, post } from "../api.js";
import { confirm, countLosses, lossPoints, showReceipt } from "../dialogs.js";
import { diff } from "../diff.js";
import { h, icon, replace } from "../dom.js";
import { dateTime, named, number, percent, reasonText, t } from "../i18n.js";
import { topics } from "../known.js";
import { live } from "../live.js";
import { marks, memoryLink, memoryRow, sessionLink, speaker } from "../parts.js";
import { go } from "../router.js";
import { attempt, button, failed, link, load, toast, when } from "../ui.js";
import { changes, editFields, editInputs } from "./memory-edit.js";
import { explainBox } from "./memory-explain.js";

/** Show a memory in a box. */
export function memoryDetail(box, id, { signal, back, changed }) {
  const page = { box, id, signal, back, changed, memory: null, editing: false, path: `/v1/memories/${part(id)}` };
  page.show = () =>
    load(
      box,
      () => fetchAll(page),
      (found) => draw(page, found),
      { rows: 5, shape: "line", signal },
    );
  page.show();
  live.addEventListener("change", () => look(page), { signal });
}

async function fetchAll(page) {
  const [memory, history, sources] = await Promise.all([
    get(page.path, {}, page.signal),
    get(`${page.path}/history`, {}, page.signal),
    get(`${page.path}/sources`, {}, page.signal),
  ]);
  return { memory, history: history.items, sources };
}

/** Reload the memory if it was changed elsewhere. */
async function look(page) {
  if (page.editing || !page.memory) return;
  try {
    const found = await fetchAll(page);
    const same =
      found.memory.revision === page.memory.revision &&
      found.memory.status === page.memory.status &&
      found.history.length === page.changes;
    if (!same && !page.editing && !page.signal.aborted) replace(page.box, draw(page, found));
  } catch {
    /* erased elsewhere: the list shows it */
  }
}

function draw(page, found) {
  const { memory, history, sources } = found;
  page.memory = memory;
  page.changes = history.length;
  page.editing = false;
  return h(
    "article.memory-page",
    {},
    h(
      "div.memory-top",
      {},
      h("a.icon-button.back", { href: page.back, "aria-label": t("back"), title: t("back") }, icon("back")),
      h("div.actions", {}, memory.status === "live" && liveActions(page, found), eraseButton(page)),
    ),
    memory.status !== "live" && retiredNote(page, memory, history),
    h("h1.visually-hidden", {}, named("kind", memory.kind)),
    h("p.memory-full", { dir: "auto" }, memory.text),
    marks(memory),
    facts(memory),
    explainBox(page.path),
    historyOf(page, history),
    provenance(sources),
  );
}

function liveActions(page, found) {
  const { memory } = found;
  return [
    button(t("memory.edit"), () => edit(page, found), { kind: "quiet", name: "edit", dataset: { action: "edit" } }),
    button(memory.pinned ? t("memory.unpin") : t("memory.pin"), (event) => pin(page, event.currentTarget), {
      kind: `quiet${memory.pinned ? " on" : ""}`,
      name: "pin",
      "aria-pressed": String(Boolean(memory.pinned)),
      dataset: { action: "pin" },
    }),
    button(t("memory.forget"), (event) => forget(page, event.currentTarget), {
      kind: "quiet",
      name: "hide",
      dataset: { action: "forget" },
    }),
  ];
}

function eraseButton(page) {
  return button(t("memory.erase"), (event) => eraseIt(page, event.currentTarget), {
    kind: "quiet danger-text",
    name: "erase",
    dataset: { action: "erase" },
  });
}

function retiredNote(page, memory, history) {
  const last = history.at(-1);
  return h(
    "div.note-box",
    {},
    h(
      "p",
      {},
      t(`retired.${["superseded", "forgotten", "expired"].includes(memory.status) ? memory.status : "forgotten"}`),
      memory.reason && ` ${t("memory.because", { reason: reasonText(memory.reason) })}`,
    ),
    memory.replaced_by && link(t("memory.successor"), memoryLink(memory.replaced_by), { name: "next" }),
    last &&
      memory.status !== "expired" &&
      button(t("memory.restore"), (event) => undo(page, last, event.currentTarget), {
        name: "undo",
        dataset: { action: "restore" },
      }),
  );
}

function facts(memory) {
  const rows = [
    ["key", memory.key],
    ["topic", memory.topic && h("a", { href: `#/topics/${part(memory.topic)}` }, memory.topic)],
    ["importance", number(memory.importance ?? 0)],
    ["trust", percent(memory.trust ?? 1)],
    ["origin", named("origin", memory.origin)],
    ["user", memory.user],
    ["app", memory.app],
    ["agent", memory.agent],
    [
      "tags",
      memory.tags?.length > 0 &&
        h(
          "span.tags",
          {},
          memory.tags.map((tag) => h("span.chip", {}, tag)),
        ),
    ],
    ["valid_from", when(memory.valid_from, { full: true })],
    ["valid_to", when(memory.valid_to, { full: true })],
    ["expires_at", when(memory.expires_at, { full: true })],
    ["last_used_at", when(memory.last_used_at, { full: true })],
    [
      "metadata",
      memory.metadata && Object.keys(memory.metadata).length > 0 && h("code", {}, JSON.stringify(memory.metadata)),
    ],
    ["id", h("code", {}, memory.id)],
  ];
  return h(
    "dl.facts",
    {},
    rows
      .filter(([, value]) => value)
      .map(([name, value]) => h("div", {}, h("dt", {}, t(`memory.${name}`)), h("dd", {}, value))),
  );
}

// --- history ---

function historyOf(page, history) {
  const newest = [...history].reverse();
  return h(
    "section.history",
    {},
    h("h2", {}, t("history.title")),
    h(
      "ol.changes",
      {},
      newest.map((change, index) => {
        const before = history[history.length - 2 - index]?.after ?? null;
        return h(
          "li",
          {},
          h(
            "div.change-head",
            {},
            h("strong", {}, named("action", change.action)),
            h("span.quiet", {}, by(change)),
            when(change.at),
            page.memory.status === "live" &&
              index === 0 &&
              history.length > 1 &&
              button(t("history.undo"), (event) => undo(page, change, event.currentTarget), {
                kind: "small",
                name: "undo",
                dataset: { action: "undo" },
              }),
          ),
          change.reason && h("p.quiet", {}, reasonText(change.reason)),
          difference(before, change.after),
        );
      }),
    ),
  );
}

const by = (change) => [named("actor", change.actor), change.model].filter(Boolean).join(" · ");

/** Describe a change: a word diff of the text, and the old and new values of other fields. */
function difference(before, after) {
  if (!after) return null;
  if (!before) return h("p.diff", {}, after.text);
  const plain = (value) =>
    Array.isArray(value)
      ? value.join(", ")
      : value === null || value === undefined || value === ""
        ? "–"
        : String(value);
  const others = ["importance", "topic", "key", "pinned", "tags", "status"].filter(
    (name) => plain(before[name]) !== plain(after[name]),
  );
  return [
    before.text !== after.text && diff(before.text, after.text),
    others.map((name) =>
      h(
        "p.diff.small",
        {},
        `${t(`memory.${name}`)}: `,
        h("del", {}, shown(name, before[name], plain)),
        " ",
        h("ins", {}, shown(name, after[name], plain)),
      ),
    ),
  ];
}

const shown = (name, value, plain) =>
  name === "status" ? named("status", value) : name === "pinned" ? t(value ? "yes" : "no") : plain(value);

// --- sources ---

function provenance({ messages = [], memories = [] }) {
  const nothing = !messages.length && !memories.length;
  return h(
    "section.sources",
    {},
    h("h2", {}, t("sources.title")),
    nothing && h("p.quiet", {}, t("sources.none")),
    messages.map((message) =>
      h(
        "a.source-message",
        { href: sessionLink(message.session, message.id) },
        h("span.quiet", {}, speaker(message), " · ", dateTime(message.at)),
        h("q", { dir: "auto" }, message.text),
      ),
    ),
    memories.length > 0 &&
      h(
        "div.rows",
        {},
        memories.map((memory) => memoryRow(memory)),
      ),
  );
}

// --- actions ---

async function edit(page, found) {
  const { memory } = found;
  page.editing = true;
  const inputs = editInputs(memory);
  const state = { pinned: memory.pinned };
  const save = h("button.button.primary", { type: "submit" }, t("save"));
  const leave = () => replace(page.box, draw(page, found));
  const submit = (event) => {
    event.preventDefault();
    const body = changes(memory, inputs, state.pinned);
    if (!Object.keys(body).length) {
      leave();
      return;
    }
    if (inputs.reason.value.trim()) body.reason = inputs.reason.value.trim();
    attempt(save, async () => {
      await patch(page.path, body);
      toast(t("saved"));
      await again(page);
    });
  };
  const onkeydown = (event) => {
    if (event.key === "Escape") leave();
  };
  const actions = h("div.actions.end", {}, button(t("cancel"), leave), save);
  replace(page.box, h("form.edit-form", { onsubmit: submit, onkeydown }, editFields(inputs, state), actions));
  inputs.text.focus();
  for (const each of await topics()) inputs.topics.append(h("option", { value: each.topic }));
}

async function again(page) {
  const found = await fetchAll(page);
  if (page.signal.aborted) return;
  replace(page.box, draw(page, found));
  page.changed();
}

/** Pin or unpin. The button changes at once and reverts if the request fails. */
async function pin(page, control) {
  const pinned = !page.memory.pinned;
  control.classList.toggle("on", pinned);
  control.setAttribute("aria-pressed", String(pinned));
  try {
    await patch(page.path, { pinned });
  } catch (error) {
    failed(error);
  }
  await again(page).catch(failed);
}

async function forget(page, control) {
  const done = await attempt(control, async () => {
    await del(page.path);
    return true;
  });
  if (!done) return;
  toast(t("memory.forgotten"), {
    action: t("undo"),
    onaction: async () => {
      await attempt(null, async () => {
        const { items } = await get(`${page.path}/history`);
        await post("/v1/undo", { change: items.at(-1).id });
        toast(t("memory.restored"));
      });
      page.changed();
      if (!page.signal.aborted) page.show();
    },
  });
  page.changed();
  page.show();
}

async function undo(page, change, control) {
  await attempt(control, async () => {
    await post("/v1/undo", { change: change.id });
    toast(t("history.undone"));
    await again(page);
  });
}

async function eraseIt(page, control) {
  const lost = await attempt(control, () => countLosses({ id: page.memory.id }));
  if (!lost) return;
  const sure = await confirm({
    title: t("erase.title"),
    points: [...lossPoints(lost), lost.hidden > 0 && t("erase.session"), t("erase.point3")].filter(Boolean),
    action: t("erase.go"),
    danger: true,
    extra: h("blockquote.asked", { dir: "auto" }, page.memory.text),
  });
  if (!sure) return;
  const receipt = await attempt(control, () => del(page.path, { erase: "true" }));
  if (!receipt) return;
  page.changed();
  await go(page.back);
  await showReceipt(receipt);
}
