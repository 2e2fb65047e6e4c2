// Import and export: a dry run first, then the import with its progress; and downloads of all data or of one scope.

import { Problem, download, events } from "../../api.js";
import { freshId, h, replace } from "../../dom.js";
import { bytes, named, number, t } from "../../i18n.js";
import { me, renew } from "../../known.js";
import { scope } from "../../settings.js";
import { attempt, button, checkbox, field, load, problem, select } from "../../ui.js";

const FORMATS = [
  "holdfast",
  "chatgpt",
  "claude",
  "claude-code",
  "mem0",
  "mcp-memory",
  "letta",
  "pdf",
  "pasted",
  "markdown",
  "text",
];
const TYPES = ["memories", "messages", "sessions", "others"];
const COUNTS = ["imported", "updated", "known", "repeated", "expired", "withheld", "empty", "redacted"];
const ENDINGS = { jsonl: "jsonl", markdown: "md", pam: "zip" };

export function section(signal) {
  const box = h("div");
  load(box, me, (who) => [importing(who, signal), exporting()], { signal });
  return box;
}

function importing(who, signal) {
  const may = who.level === "admin" && !who.user && !who.app && !who.agent;
  return h(
    "section.panel-box",
    {},
    h("h2", {}, t("import.title")),
    h("p.quiet", {}, t("import.lead")),
    may ? importForm(signal) : h("p.note-box", {}, t("import.needsAdmin")),
  );
}

function importForm(signal) {
  const result = h("div.import-result", { "aria-live": "polite" });
  const file = h("input.file-input", { type: "file" });
  const user = h("input", { type: "text", value: scope().user ?? "", placeholder: t("scope.user.none") });
  let format = "";
  const formats = select(
    [["", t("import.auto")], ...FORMATS.map((name) => [name, t(`format.${name}`)])],
    "",
    (value) => {
      format = value;
    },
  );
  const learn = h("input", { type: "number", min: "0", placeholder: t("import.learnAll") });
  let shared = false;
  const sharing = checkbox(t("import.shared"), false, (checked) => {
    shared = checked;
  });
  const run = (dryRun) => (event) => {
    const control = event.currentTarget;
    if (!file.files?.length) {
      file.focus();
      replace(result, h("p.bad", {}, t("import.choose")));
      return;
    }
    const options = { user: user.value.trim(), format, learn: learn.value, shared };
    const [chosen] = file.files;
    attempt(control, () => send(chosen, options, dryRun, result, signal));
  };
  const name = h("span.file-name.quiet", {}, t("import.noFile"));
  const pick = h("div.file-pick", {}, file, h("label.button", { for: freshId("file") }, t("import.pick")), name);
  file.id = String(pick.querySelector("label")?.htmlFor);
  file.addEventListener("change", () => {
    replace(result);
    replace(name, file.files?.[0]?.name ?? t("import.noFile"));
  });
  return [
    h(
      "div.grid-2",
      {},
      h("div.field", {}, h("span.label", {}, t("import.file")), pick, h("small.hint", {}, t("import.fileHint"))),
      field(t("import.user"), user, { hint: t("import.userHint") }),
      field(t("import.format"), formats),
      field(t("import.learn"), learn, { hint: t("import.learnHint") }),
    ),
    sharing,
    h(
      "div.actions",
      {},
      button(t("import.check"), run(true), { name: "search", dataset: { action: "dry-run" } }),
      button(t("import.go"), run(false), { kind: "primary", name: "plus", dataset: { action: "import" } }),
    ),
    result,
  ];
}

async function send(file, options, dryRun, result, signal) {
  const bar = h("progress", { max: "1", "aria-label": t("import.progress") });
  const state = h("span", {}, t("import.reading", { size: bytes(file.size) }));
  replace(result, h("div.import-progress", {}, bar, state));
  try {
    const ownScope = (await file.slice(0, 200).text()).includes('"holdfast-export"');
    const query = { name: file.name, dry_run: dryRun, stream: true, format: options.format, learn: options.learn };
    if (!ownScope) {
      query.user = options.user;
      query.shared = options.shared;
    }
    for await (const { event, data } of events("POST", "/v1/import", { file, query, signal })) {
      if (event === "progress") {
        bar.value = data.total ? data.done / data.total : 1;
        replace(state, t("import.done", { done: data.done, n: data.total }));
      } else if (event === "error") throw new Problem(data.status, data);
      else replace(result, report(data));
    }
    renew();
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!error.code) console.error(error);
    replace(result, problem(error));
  }
}

function report(found) {
  const used = COUNTS.filter((name) => TYPES.some((type) => found[type][name]));
  const rows = TYPES.filter((type) => found[type].found);
  return [
    h("p.good", {}, t(found.dry_run ? "import.dry" : "import.stored", { format: named("format", found.format) })),
    rows.length > 0 &&
      h(
        "div.scroll",
        {},
        h(
          "table.admin-table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }),
              ["found", ...used].map((name) => h("th", { scope: "col" }, t(`count.${name}`))),
            ),
          ),
          h(
            "tbody",
            {},
            rows.map((type) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, t(`count.${type}`)),
                ["found", ...used].map((name) => h("td", {}, number(found[type][name]))),
              ),
            ),
          ),
        ),
      ),
    found.skipped.length > 0 && fileList("skipped", found.skipped),
    found.warnings.length > 0 && fileList("warning", found.warnings),
    found.learning > 0 && h("p", {}, t("import.learning", { n: found.learning })),
    !found.dry_run && h("div.actions", {}, h("a.button", { href: "#/memories" }, t("import.see"))),
  ];
}

/** The files that were not imported, or not completely, each with the reason. */
function fileList(name, files) {
  return h(
    "details.file-list",
    { open: files.length <= 10 },
    h("summary", {}, t(`import.${name}`, { n: files.length })),
    h(
      "ul",
      {},
      files.map((each) =>
        h("li", {}, h("code", {}, each.file), " ", t(`import.${name}.detail`, { detail: each.detail })),
      ),
    ),
  );
}

function exporting() {
  const here = scope();
  const own = Object.values(here).join(" · ");
  const state = { what: own ? "scope" : "all", format: "jsonl" };
  const options = [...(own ? [["scope", own]] : []), ["all", t("export.all")]];
  const save = (event) => {
    const query = state.what === "scope" ? here : {};
    const name = `${state.what === "scope" ? Object.values(here).join("-") : "holdfast"}.${ENDINGS[state.format]}`;
    attempt(event.currentTarget, () => download("/v1/export", { ...query, format: state.format }, name));
  };
  const choose = (name) => (value) => {
    state[name] = value;
  };
  return h(
    "section.panel-box",
    {},
    h("h2", {}, t("export.title")),
    h("p.quiet", {}, t("export.lead")),
    h(
      "div.grid-2",
      {},
      field(t("export.what"), select(options, state.what, choose("what"))),
      field(
        t("import.format"),
        select(
          Object.keys(ENDINGS).map((name) => [name, t(`export.${name}`)]),
          state.format,
          choose("format"),
        ),
      ),
    ),
    h(
      "div.actions",
      {},
      button(t("export.go"), save, { kind: "primary", name: "copy", dataset: { action: "export" } }),
    ),
  );
}
