// Selection of several memories: forget or erase them after a dialog that says exactly what will be lost.

import { post } from "./api.js";
import { confirm, showReceipt } from "./dialogs.js";
import { h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { attempt, button, toast } from "./ui.js";

const STEP = 500; // the most that the server takes in one request
const COUNTS = ["memories", "revisions", "messages", "sessions", "jobs", "vectors", "rebuilt"];

/** The selection of a list. `changed` redraws the list; `rows` returns the ids that it shows. */
export function selection({ changed, shown }) {
  const picked = new Set();
  const bar = h("div");
  const state = { bar, isOn: false, wrap, toggle };

  function toggle() {
    state.isOn = !state.isOn;
    picked.clear();
    draw();
    changed();
  }

  function draw() {
    if (!state.isOn) {
      replace(bar);
      return;
    }
    const act = (action) => (event) => run(event.currentTarget, action);
    const none = picked.size === 0;
    replace(
      bar,
      h(
        "div.bulk-bar",
        { role: "toolbar", "aria-label": t("bulk.label") },
        h("b", { "aria-live": "polite" }, t("bulk.count", { n: picked.size })),
        button(t("bulk.all"), () => pickAll(), { kind: "small", dataset: { action: "pick-all" } }),
        button(t("bulk.forget"), act("forget"), {
          kind: "small",
          name: "hide",
          disabled: none,
          dataset: { action: "bulk-forget" },
        }),
        button(t("bulk.erase"), act("erase"), {
          kind: "small danger-text",
          name: "erase",
          disabled: none,
          dataset: { action: "bulk-erase" },
        }),
        button(t("bulk.end"), toggle, { kind: "small quiet", dataset: { action: "pick-end" } }),
      ),
    );
  }

  /** A row of the list with its checkbox. */
  function wrap(memory, row) {
    if (!state.isOn) return row;
    const box = h("input.pick", {
      type: "checkbox",
      checked: picked.has(memory.id),
      "aria-label": memory.text.slice(0, 120),
      onchange: (event) => {
        if (event.target.checked) picked.add(memory.id);
        else picked.delete(memory.id);
        draw();
      },
    });
    return h("div.picked", { dataset: { id: memory.id } }, box, row);
  }

  function pickAll() {
    for (const node of shown()) {
      picked.add(node.dataset.id);
      node.querySelector(".pick").checked = true;
    }
    draw();
  }

  async function run(control, action) {
    const ids = [...picked];
    const losses = await attempt(control, () => count(ids, action));
    if (!losses || !(await sure(losses, action, ids.length))) return;
    const done = await attempt(control, () => perform(ids, action, bar));
    draw();
    if (!done) return;
    picked.clear();
    draw();
    changed();
    if (action === "forget") offerUndo(done.changes, changed);
    else await showReceipt(total(done.receipts));
  }

  return state;
}

const count = async (ids, action) => (await post("/v1/memories/bulk", { ids, action, dry_run: true })).losses;

function sure(losses, action, number) {
  const points =
    action === "forget"
      ? [t("bulk.hides", { n: losses.memories }), t("bulk.undoable")]
      : [
          t("bulk.loses", { n: losses.memories }),
          t("bulk.revisions", { n: losses.revisions }),
          losses.derived > 0 && t("bulk.derived", { n: losses.derived }),
          losses.rebuilt > 0 && t("bulk.rebuilt", { n: losses.rebuilt }),
          losses.messages > 0 && t("bulk.messages", { n: losses.messages }),
          t("erase.point3"),
        ].filter(Boolean);
  return confirm({
    title: t(`bulk.${action}.title`, { n: number }),
    points,
    action: t(`bulk.${action}`),
    danger: action === "erase",
    typed: action === "erase" && number > 1 ? String(number) : null,
  });
}

/** Send the ids in steps, and show how many are done. */
async function perform(ids, action, bar) {
  /** @type {{changes: any[], receipts: any[]}} */
  const found = { changes: [], receipts: [] };
  const state = h("span", { role: "status" });
  bar.firstElementChild?.append(state);
  for (let at = 0; at < ids.length; at += STEP) {
    replace(state, t("bulk.progress", { done: at, total: ids.length }));
    const some = await post("/v1/memories/bulk", { ids: ids.slice(at, at + STEP), action });
    found.changes.push(...some.changes);
    found.receipts.push(...some.receipts);
  }
  return found;
}

function offerUndo(changes, changed) {
  const undo = () =>
    attempt(null, async () => {
      for (const change of changes) await post("/v1/undo", { change });
      changed();
    });
  toast(t("bulk.forgot", { n: changes.length }), {
    action: changes.length ? t("undo") : null,
    onaction: undo,
    seconds: 12,
  });
}

/** One receipt with the sums of several. */
function total(receipts) {
  const sum = (name) => receipts.reduce((found, receipt) => found + (receipt[name] ?? 0), 0);
  const all = (name) => [...new Set(receipts.flatMap((receipt) => receipt[name] ?? []))];
  return {
    at: receipts.at(-1)?.at,
    verified: receipts.every((receipt) => receipt.verified),
    status: receipts.some((receipt) => receipt.status === "pending") ? "pending" : "erased",
    residue: all("residue"),
    backups: all("backups"),
    ...Object.fromEntries(COUNTS.map((name) => [name, sum(name)])),
  };
}
