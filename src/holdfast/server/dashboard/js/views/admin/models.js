// Models: which are set, choosing another, a test of each, the Ollama server of this machine, and spend over days.

import { get, post, put } from "../../api.js";
import { stackedBars } from "../../charts.js";
import { dialog } from "../../dialogs.js";
import { h, icon, replace } from "../../dom.js";
import { has, milliseconds, money, number, shortDay, t } from "../../i18n.js";
import { live } from "../../live.js";
import { attempt, button, field, load, problem, serverText, toast } from "../../ui.js";
import { bySeries, lastDays } from "../stats.js";

const DAYS = 30;

export function section(signal) {
  const list = h("div");
  const local = h("div");
  const spend = h("div");
  const fill = () =>
    load(
      list,
      () => get("/v1/models", {}, signal),
      (found) =>
        h(
          "div.rows",
          {},
          found.items.map((model) => row(model, fill)),
        ),
      { signal },
    );
  fill();
  live.addEventListener("change", (event) => isBack(event) && fill(), { signal });
  ollama(local, signal);
  load(
    spend,
    () => get("/v1/stats", {}, signal),
    (stats) => spending(stats.spend ?? []),
    {
      rows: 1,
      shape: "chart",
      signal,
    },
  );
  return [list, local, h("h2.admin-title", {}, t("models.spend")), spend];
}

/** True if the server was started again, or the page was shown again: the event then tells no change of data. */
const isBack = (event) => !Object.keys(/** @type {CustomEvent} */ (event).detail ?? {}).length;

function row(model, fill) {
  const result = h("div", { role: "status" });
  const test = (event) =>
    attempt(event.currentTarget, async () => {
      replace(result, h("span.quiet", {}, t("models.testing")));
      try {
        replace(result, outcome(await post(`/v1/models/${model.role}/test`)));
      } catch (error) {
        replace(result);
        throw error;
      }
    });
  return h(
    "div.row.admin-row",
    { dataset: { role: model.role } },
    h(
      "div",
      {},
      h(
        "div.model-name",
        {},
        h("b", {}, t(`models.${model.role}`)),
        model.name ? h("code", {}, model.name) : h("span.quiet", {}, t("models.none")),
      ),
      h("p.quiet", {}, t(`models.${model.role}.does`)),
      model.next && h("p.note-box.next-model", {}, h("span", {}, t("models.next"), " ", h("code", {}, model.next))),
      model.problem && h("p.bad", {}, icon("warn", 16), " ", serverText(model.problem, model.problem_code)),
      result,
    ),
    h(
      "div.actions",
      {},
      model.name && button(t("models.test"), test, { kind: "small", dataset: { action: "test" } }),
      button(t("models.choose"), (event) => attempt(event.currentTarget, () => choose(model, fill)), {
        kind: "small",
        dataset: { action: "choose" },
      }),
    ),
  );
}

/** Choose a model for the next start of the server. */
async function choose(model, fill) {
  if (model.set_by) {
    const by = model.set_by === "argument" ? t("models.byArgument") : t("models.byVariable", { name: model.set_by });
    await dialog(t(`models.${model.role}`), () => h("p", {}, by), { class: "narrow" });
    return;
  }
  const suggested = [...new Set([...model.choices, ...(model.role === "chat" ? await ollamaNames() : [])])];
  const saved = await dialog(t("models.chooseTitle", { role: t(`models.${model.role}`) }), (close) =>
    choiceForm(model, suggested, close),
  );
  if (!saved) return;
  toast(t("models.saved", { name: saved.name }), { seconds: 12 });
  fill();
}

function choiceForm(model, suggested, close) {
  const input = h("input", {
    type: "text",
    value: model.next ?? model.name ?? "",
    spellcheck: "false",
    autocomplete: "off",
    "data-first": true,
  });
  const result = h("div", { role: "status" });
  const submit = h("button.button.primary", { type: "submit" }, t("models.save"));
  const save = async () => {
    try {
      close(await put(`/v1/models/${model.role}`, { name: input.value.trim() }));
    } catch (error) {
      if (!error.code) throw error;
      replace(result, problem(error));
    }
  };
  return h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim()) attempt(submit, save);
      },
    },
    field(t("models.name"), input, { hint: has(`models.${model.role}.hint`) && t(`models.${model.role}.hint`) }),
    h(
      "div.suggestions",
      {},
      suggested.map((name) =>
        h("button.suggestion", { type: "button", onclick: () => Object.assign(input, { value: name }) }, name),
      ),
    ),
    h("p.quiet", {}, t("models.restart")),
    result,
    h("div.actions.end", {}, submit),
  );
}

async function ollamaNames() {
  try {
    return (await get("/v1/ollama")).models.map((name) => `ollama:${name}`);
  } catch {
    return [];
  }
}

function outcome(found) {
  return h(
    "p",
    { class: found.ok ? "good" : "bad" },
    icon(found.ok ? "check" : "warn", 16),
    " ",
    t(found.ok ? "models.works" : "models.fails", { time: milliseconds(found.milliseconds) }),
    " ",
    serverText(found.detail, found.detail_code),
  );
}

/** Ollama is looked for by the server on its own machine. */
async function ollama(box, signal) {
  try {
    const found = await get("/v1/ollama", {}, signal);
    if (signal.aborted || !found.found) return;
    replace(box, ollamaNote(found));
  } catch {
    /* the list above shows why the key may not ask */
  }
}

/** How to use the Ollama server of this machine. */
export function ollamaNote(found) {
  return h(
    "div.panel-box.ollama",
    {},
    h(
      "p",
      {},
      icon("spark", 18),
      " ",
      h("b", {}, t("ollama.found")),
      " ",
      t("ollama.models", { n: found.models.length }),
    ),
    found.models.length
      ? [
          h("p.quiet", {}, t("ollama.use")),
          h(
            "div.actions",
            {},
            found.models.slice(0, 3).map((name) => useModel(`ollama:${name}`)),
          ),
        ]
      : h("pre.command", {}, "ollama pull llama3.2"),
  );
}

/** A button that saves a chat model for the next start. */
function useModel(name) {
  const use = (event) =>
    attempt(event.currentTarget, async () => {
      await put("/v1/models/chat", { name });
      toast(t("models.saved", { name }), { seconds: 12 });
    });
  return button(name, use, { name: "spark", dataset: { action: "use-model" } });
}

function spending(rows) {
  const days = lastDays(DAYS);
  const within = (count) => rows.filter((row) => days.slice(-count).includes(row.day));
  const sum = (some, name) => some.reduce((total, row) => total + row[name], 0);
  const volume = (some) => {
    const tokens = sum(some, "input_tokens") + sum(some, "output_tokens");
    return [t("models.calls", { n: sum(some, "calls") }), " · ", t("models.tokens", { n: number(tokens) })];
  };
  const tile = (label, some) =>
    h("div.tile", {}, h("dt", {}, label), h("dd", {}, money(sum(some, "cost")), h("small", {}, volume(some))));
  const costs = sum(rows, "cost") > 0;
  const value = (row) => (costs ? row.cost : row.calls);
  const series = bySeries(
    rows,
    days,
    (row) => row.model,
    value,
    (name) => name,
    (_, index) => 1 + (index % 8),
  );
  return [
    h(
      "dl.tiles",
      {},
      tile(t("models.today"), within(1)),
      tile(t("models.week"), within(7)),
      tile(t("models.month"), within(DAYS)),
    ),
    series.length
      ? h(
          "div.charts.single",
          {},
          stackedBars({
            title: t(costs ? "models.costPerDay" : "models.callsPerDay"),
            note: t(costs ? "models.byModel" : "models.free"),
            labels: days.map((day) => shortDay(`${day}T12:00:00`)),
            series,
            heading: t("chart.day"),
            format: costs ? money : number,
          }),
        )
      : h("p.quiet", {}, t("models.noSpend")),
  ];
}
