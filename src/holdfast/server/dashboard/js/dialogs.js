// Dialogs, built on the native <dialog> element, which handles focus and the Escape key.

import { post } from "./api.js";
import { h, freshId } from "./dom.js";
import { dateTime, named, number, t } from "./i18n.js";
import { button, checkbox, field, iconButton, select } from "./ui.js";

/**
 * Open a dialog and return the value it was closed with. `build(close)` returns its content.
 * @param {string} title
 * @param {(close: (value?: any) => void) => import("./dom.js").Child} build
 * @param {{class?: string}} options
 * @returns {Promise<any>}
 */
export function dialog(title, build, { class: more = "" } = {}) {
  return new Promise((resolve) => {
    const id = freshId("dialog");
    const node = h("dialog.dialog", { "aria-labelledby": id, class: more });
    let result;
    const close = (value) => {
      result = value;
      node.close();
    };
    const leave = () => close(undefined);
    window.addEventListener("hashchange", leave);
    node.addEventListener("close", () => {
      window.removeEventListener("hashchange", leave);
      node.remove();
      resolve(result);
    });
    node.addEventListener("click", (event) => {
      if (event.target === node) close(undefined);
    });
    node.append(
      h(
        "div.dialog-head",
        {},
        h("h2", { id }, title),
        iconButton(t("close"), "close", () => close(undefined)),
      ),
      h("div.dialog-body", {}, build(close)),
    );
    document.body.append(node);
    node.showModal();
    /** @type {HTMLElement | null} */ (node.querySelector("[data-first]"))?.focus();
  });
}

/**
 * Ask for confirmation. `points` lists the consequences; `typed` must be typed to confirm.
 * @param {{title: string, points: import("./dom.js").Child[], action: string, danger?: boolean, typed?: string | null, extra?: import("./dom.js").Child}} options
 */
export function confirm({ title, points, action, danger = false, typed = null, extra = null }) {
  return dialog(title, (close) => {
    const go = button(action, () => close(true), {
      kind: danger ? "danger" : "primary",
      disabled: typed !== null,
      "data-first": typed === null && !danger,
    });
    const input =
      typed !== null &&
      h("input", {
        type: "text",
        autocomplete: "off",
        spellcheck: "false",
        "data-first": true,
        oninput: (event) => {
          go.disabled = event.target.value.trim() !== typed;
        },
      });
    return [
      h(
        "ul.points",
        {},
        points.map((point) => h("li", {}, point)),
      ),
      extra,
      input && field(t("confirm.type", { name: typed }), input),
      h(
        "div.actions.end",
        {},
        button(t("cancel"), () => close(false), { "data-first": danger && typed === null }),
        go,
      ),
    ];
  });
}

const LOSSES = ["memories", "live", "derived", "rebuilt", "revisions", "messages", "sessions", "hidden"];

/** Count what erasing one or several targets removes. A target is the body of an erasure. */
export async function countLosses(...targets) {
  const found = await Promise.all(targets.map((target) => post("/v1/erase/preview", target)));
  return Object.fromEntries(LOSSES.map((name) => [name, found.reduce((sum, each) => sum + each[name], 0)]));
}

/** Say what is lost, one sentence per kind of data. */
export function lossPoints(lost) {
  const { memories, live, derived, rebuilt, revisions, messages, sessions, hidden } = lost;
  if (!memories && !rebuilt && !messages && !sessions) return [t("lose.nothing")];
  return [
    memories > 0 && t("lose.memories", { n: memories, live, retired: memories - live }),
    revisions > 0 && t("bulk.revisions", { n: revisions }),
    derived > 0 && t("lose.derived", { n: derived }),
    rebuilt > 0 && t("bulk.rebuilt", { n: rebuilt }),
    sessions > 0 && t("lose.sessions", { n: sessions }),
    messages > 0 && t("lose.messages", { n: messages }),
    hidden > 0 && t("bulk.messages", { n: hidden }),
  ].filter(Boolean);
}

/** Count what erasing the targets removes, and say it. */
export const losses = async (...targets) => lossPoints(await countLosses(...targets));

/** Show the receipt of an erasure. */
export function showReceipt(receipt) {
  return dialog(
    t("receipt.title"),
    (close) => [
      h(
        "p.receipt-status",
        { class: receipt.verified ? "good" : "warn" },
        receipt.status === "pending"
          ? t("receipt.pending")
          : receipt.verified
            ? t("receipt.verified")
            : t("receipt.unverified"),
      ),
      h("table.receipt", {}, h("tbody", {}, receiptRows(receipt))),
      listed("receipt.residue", receipt.residue),
      listed("receipt.backups", receipt.backups),
      h(
        "div.actions.end",
        {},
        button(t("done"), () => close(true), { kind: "primary", "data-first": true }),
      ),
    ],
    { class: "narrow" },
  );
}

function receiptRows(receipt) {
  const counts = ["memories", "revisions", "messages", "sessions", "jobs", "vectors", "rebuilt"];
  const row = (name, value) => h("tr", {}, h("th", { scope: "row" }, t(`receipt.${name}`)), h("td", {}, value));
  const target = Object.entries(receipt.target ?? {})
    .map(([what, name]) => `${named("target", what)}: ${name}`)
    .join(", ");
  return [
    target && row("target", target),
    row("at", receipt.at ? dateTime(receipt.at) : ""),
    counts.map((name) => row(name, number(receipt[name] ?? 0))),
  ];
}

/** The tags in a comma-separated list. */
export function splitTags(text) {
  return text
    .split(",")
    .map((tag) => tag.trim())
    .filter(Boolean);
}

function listed(key, files) {
  if (!files?.length) return null;
  return h(
    "div",
    {},
    h("p", {}, t(key)),
    h(
      "ul",
      {},
      files.map((file) => h("li", {}, h("code", {}, file))),
    ),
  );
}

/** Ask for a new memory, and return the request body. */
export function newMemory(kinds, topics, preset = {}) {
  return dialog(t("remember.title"), (close) => {
    const inputs = memoryInputs(topics, preset);
    const state = { kind: preset.kind ?? "", pinned: false };
    const submit = (event) => {
      event.preventDefault();
      if (inputs.text.value.trim()) close(memoryBody(inputs, state));
      else inputs.text.focus();
    };
    const options = [["", t("remember.kindDefault")], ...kinds.map((each) => [each.name, named("kind", each.name)])];
    const kind = select(options, state.kind, (value) => {
      state.kind = value;
    });
    const pinned = checkbox(t("remember.pinned"), false, (value) => {
      state.pinned = value;
    });
    return h(
      "form",
      { onsubmit: submit },
      field(t("memory.text"), inputs.text),
      h(
        "div.grid-2",
        {},
        field(t("memory.kind"), kind),
        field(t("memory.topic"), inputs.topic),
        field(t("memory.key"), inputs.key),
        field(t("memory.tags"), inputs.tags),
      ),
      inputs.topics,
      pinned,
      h(
        "div.actions.end",
        {},
        button(t("cancel"), () => close(undefined)),
        h("button.button.primary", { type: "submit" }, t("remember.save")),
      ),
    );
  });
}

function memoryInputs(topics, preset) {
  const known = h(
    "datalist",
    { id: freshId("topics") },
    topics.map((topic) => h("option", { value: topic.topic })),
  );
  return {
    text: h("textarea", { rows: "3", required: true, "data-first": true, placeholder: t("remember.placeholder") }),
    key: h("input", { type: "text", placeholder: t("remember.keyHint") }),
    topics: known,
    topic: h("input", { type: "text", list: known.id, value: preset.topic ?? "" }),
    tags: h("input", { type: "text", placeholder: t("remember.tagsHint") }),
  };
}

function memoryBody({ text, key, topic, tags }, { kind, pinned }) {
  const split = splitTags(tags.value);
  return {
    text: text.value.trim(),
    ...(kind && { kind }),
    ...(key.value.trim() && { key: key.value.trim() }),
    ...(topic.value.trim() && { topic: topic.value.trim() }),
    ...(split.length && { tags: split }),
    ...(pinned && { pinned }),
  };
}
