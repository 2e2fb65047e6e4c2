// One memory: what it says, where it came from, how it changed, and everything that can be done to it.

import { del, get, part, patch, post } from "../api.js";
import { confirm, showReceipt } from "../dialogs.js";
import { diff } from "../diff.js";
import { freshId, h, icon, replace } from "../dom.js";
import { dateTime, named, number, percent, t } from "../i18n.js";
import { topics } from "../known.js";
import { live } from "../live.js";
import { marks, memoryLink, memoryRow, sessionLink, speaker } from "../parts.js";
import { go } from "../router.js";
import { attempt, button, checkbox, failed, field, link, load, toast, when } from "../ui.js";

/** Fill a box with a memory's page. */
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

/** Somebody else may have changed it meanwhile. */
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
    /* erased elsewhere; the list will tell */
  }
}

function draw(page, { memory, history, sources }) {
  page.memory = memory;
  page.changes = history.length;
  page.editing = false;
  const liveNow = memory.status === "live";
  return h(
    "article.memory-page",
    {},
    h(
      "div.memory-top",
      {},
      h("a.icon-button.back", { href: page.back, "aria-label": t("back"), title: t("back") }, icon("back")),
      h(
        "div.actions",
        {},
        liveNow &&
          button(t("memory.edit"), () => edit(page, { memory, history, sources }), {
            kind: "quiet",
            name: "edit",
            dataset: { action: "edit" },
          }),
        liveNow &&
          button(memory.pinned ? t("memory.unpin") : t("memory.pin"), (event) => pin(page, event.currentTarget), {
            kind: `quiet${memory.pinned ? " on" : ""}`,
            name: "pin",
            "aria-pressed": String(Boolean(memory.pinned)),
            dataset: { action: "pin" },
          }),
        liveNow &&
          button(t("memory.forget"), (event) => forget(page, event.currentTarget), {
            kind: "quiet",
            name: "hide",
            dataset: { action: "forget" },
          }),
        button(t("memory.erase"), (event) => eraseIt(page, event.currentTarget), {
          kind: "quiet danger-text",
          name: "erase",
          dataset: { action: "erase" },
        }),
      ),
    ),
    !liveNow && retiredNote(page, memory, history),
    h("p.memory-full", { dir: "auto" }, memory.text),
    marks(memory),
    facts(memory),
    historyOf(page, history),
    provenance(sources),
  );
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
      memory.reason && ` ${t("memory.because", { reason: memory.reason })}`,
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
          change.reason && h("p.quiet", {}, change.reason),
          difference(before, change.after),
        );
      }),
    ),
  );
}

const by = (change) => [named("actor", change.actor), change.model].filter(Boolean).join(" · ");

/** What a change did: the text word by word, the other fields from and to. */
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

// --- where it came from ---

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

// --- what can be done ---

async function edit(page, found) {
  const { memory } = found;
  page.editing = true;
  const datalist = h("datalist", { id: freshId("topics") });
  const text = h("textarea", { rows: "4", value: memory.text });
  const importance = h("input", { type: "range", min: "0", max: "10", step: "0.5", value: String(memory.importance) });
  const shownImportance = h("output", {}, number(memory.importance));
  importance.addEventListener("input", () => replace(shownImportance, number(Number(importance.value))));
  const topic = h("input", { type: "text", value: memory.topic ?? "", list: datalist.id });
  const tags = h("input", { type: "text", value: (memory.tags ?? []).join(", "), placeholder: t("remember.tagsHint") });
  const reason = h("input", { type: "text", placeholder: t("memory.reasonHint") });
  let { pinned } = memory;
  const save = h("button.button.primary", { type: "submit" }, t("save"));
  const submit = (event) => {
    event.preventDefault();
    const split = tags.value
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean);
    const body = {
      ...(text.value.trim() !== memory.text && { text: text.value.trim() }),
      ...(Number(importance.value) !== memory.importance && { importance: Number(importance.value) }),
      ...(topic.value.trim() && topic.value.trim() !== memory.topic && { topic: topic.value.trim() }),
      ...(split.join() !== (memory.tags ?? []).join() && { tags: split }),
      ...(pinned !== memory.pinned && { pinned }),
    };
    if (!Object.keys(body).length) {
      replace(page.box, draw(page, found));
      return;
    }
    if (reason.value.trim()) body.reason = reason.value.trim();
    attempt(save, async () => {
      await patch(page.path, body);
      toast(t("saved"));
      await again(page);
    });
  };
  replace(
    page.box,
    h(
      "form.edit-form",
      {
        onsubmit: submit,
        onkeydown: (event) => {
          if (event.key === "Escape") replace(page.box, draw(page, found));
        },
      },
      h("h2", {}, t("memory.editTitle")),
      field(t("memory.text"), text),
      h(
        "div.grid-2",
        {},
        field(t("memory.topic"), topic),
        field(t("memory.tags"), tags),
        h("div.range", {}, field(t("memory.importance"), importance), shownImportance),
        field(t("memory.reason"), reason),
      ),
      datalist,
      checkbox(t("remember.pinned"), pinned, (value) => {
        pinned = value;
      }),
      h("p.quiet", {}, t("memory.editNote")),
      h(
        "div.actions.end",
        {},
        button(t("cancel"), () => replace(page.box, draw(page, found))),
        save,
      ),
    ),
  );
  text.focus();
  for (const each of await topics()) datalist.append(h("option", { value: each.topic }));
}

async function again(page) {
  const found = await fetchAll(page);
  if (page.signal.aborted) return;
  replace(page.box, draw(page, found));
  page.changed();
}

/** Pinning is safe to show at once; if the server says no, it goes back. */
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
  const sure = await confirm({
    title: t("erase.title"),
    points: [t("erase.point1"), t("erase.point2"), t("erase.point2b"), t("erase.point3")],
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
