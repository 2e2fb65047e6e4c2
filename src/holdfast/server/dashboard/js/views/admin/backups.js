// Backups: write one, and list the known copies of the store.

import { get, post } from "../../api.js";
import { h } from "../../dom.js";
import { bytes, t } from "../../i18n.js";
import { attempt, button, chip, empty, load, toast, when } from "../../ui.js";

export function section(signal) {
  const box = h("div");
  const fill = () =>
    load(
      box,
      () => get("/v1/backups", {}, signal),
      (found) => (found.dump ? withDump(found.dump) : draw(found.items, fill)),
      { signal },
    );
  fill();
  return box;
}

/** How to copy a PostgreSQL store. The name of the database comes from the server, without its password. */
function withDump(dump) {
  return h(
    "div.panel-box",
    {},
    h("p", {}, t("backups.postgres")),
    h("pre.command", {}, dump),
    h("p.quiet", {}, t("backups.postgresAfter")),
  );
}

function draw(copies, fill) {
  const write = (event) =>
    attempt(event.currentTarget, async () => {
      const made = await post("/v1/backups");
      toast(t("backups.done", { size: bytes(made.bytes ?? 0) }));
      fill();
    });
  return [
    h(
      "div.actions.lead-actions",
      {},
      button(t("backups.make"), write, { kind: "primary", name: "plus", dataset: { action: "backup" } }),
    ),
    copies.length
      ? h("div.rows", {}, copies.map(row))
      : empty(t("backups.none.title"), t("backups.none.body"), { name: "copy" }),
    h("p.quiet.count", {}, t("backups.restore"), " ", h("code", {}, "holdfast restore FILE")),
  ];
}

function row(copy) {
  return h(
    "div.row.admin-row",
    { class: copy.exists ? "" : "is-off" },
    h(
      "div",
      {},
      h("code.path", {}, copy.path),
      h(
        "div.marks",
        {},
        copy.exists
          ? [h("span", {}, bytes(copy.bytes)), when(copy.at, { full: true })]
          : chip(t("backups.gone"), { class: "retired" }),
        !copy.exists && h("span", {}, t("backups.goneNote")),
      ),
    ),
  );
}
