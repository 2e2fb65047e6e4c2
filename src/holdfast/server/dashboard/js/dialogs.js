// Dialogs: the browser's own <dialog>, so that focus and the Escape key behave.

import { h, freshId } from "./dom.js";
import { dateTime, number, t } from "./i18n.js";
import { button, checkbox, field, iconButton, select } from "./ui.js";

/** Open a dialog and return what it was closed with. `build(close)` gives its content. */
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
    node.querySelector("[data-first]")?.focus();
  });
}

/** Ask before something happens. `points` says what will; `typed` must be typed where much is at stake. */
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

/** Show what an erasure did. */
export function showReceipt(receipt) {
  const counts = ["memories", "revisions", "messages", "sessions", "jobs", "vectors", "rebuilt"];
  const target = Object.entries(receipt.target ?? {})
    .map(([what, name]) => `${what}: ${name}`)
    .join(", ");
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
      h(
        "table.receipt",
        {},
        h(
          "tbody",
          {},
          target && h("tr", {}, h("th", { scope: "row" }, t("receipt.target")), h("td", {}, target)),
          h("tr", {}, h("th", { scope: "row" }, t("receipt.at")), h("td", {}, receipt.at ? dateTime(receipt.at) : "")),
          counts.map((name) =>
            h("tr", {}, h("th", { scope: "row" }, t(`receipt.${name}`)), h("td", {}, number(receipt[name] ?? 0))),
          ),
        ),
      ),
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

/** Ask for a new memory; gives the body to send. */
export function newMemory(kinds, topics, preset = {}) {
  return dialog(t("remember.title"), (close) => {
    const text = h("textarea", {
      rows: "3",
      required: true,
      "data-first": true,
      placeholder: t("remember.placeholder"),
    });
    const key = h("input", { type: "text", placeholder: t("remember.keyHint") });
    const topics_ = h(
      "datalist",
      { id: freshId("topics") },
      topics.map((topic) => h("option", { value: topic.topic })),
    );
    const topic = h("input", { type: "text", list: topics_.id, value: preset.topic ?? "" });
    const tags = h("input", { type: "text", placeholder: t("remember.tagsHint") });
    let kind = preset.kind ?? "";
    let pinned = false;
    const submit = (event) => {
      event.preventDefault();
      if (!text.value.trim()) {
        text.focus();
        return;
      }
      const split = tags.value
        .split(",")
        .map((tag) => tag.trim())
        .filter(Boolean);
      close({
        text: text.value.trim(),
        ...(kind && { kind }),
        ...(key.value.trim() && { key: key.value.trim() }),
        ...(topic.value.trim() && { topic: topic.value.trim() }),
        ...(split.length && { tags: split }),
        ...(pinned && { pinned }),
      });
    };
    return h(
      "form",
      { onsubmit: submit },
      field(t("memory.text"), text),
      h(
        "div.grid-2",
        {},
        field(
          t("memory.kind"),
          select([["", t("remember.kindDefault")], ...kinds.map((each) => [each.name, each.name])], kind, (value) => {
            kind = value;
          }),
        ),
        field(t("memory.topic"), topic),
        field(t("memory.key"), key),
        field(t("memory.tags"), tags),
      ),
      topics_,
      checkbox(t("remember.pinned"), false, (value) => {
        pinned = value;
      }),
      h(
        "div.actions.end",
        {},
        button(t("cancel"), () => close(undefined)),
        h("button.button.primary", { type: "submit" }, t("remember.save")),
      ),
    );
  });
}
