// Topic pages: Markdown to read, and to edit next to a preview. Each line of a page is a memory.

import { getHere, part, put } from "../api.js";
import { confirm, dialog } from "../dialogs.js";
import { h, icon, replace } from "../dom.js";
import { t } from "../i18n.js";
import { markdown } from "../markdown.js";
import { memoryRow } from "../parts.js";
import { go } from "../router.js";
import { scope } from "../settings.js";
import { attempt, button, empty, field, head, link, load, segmented, serverText, toast, when } from "../ui.js";

const path = (topic) => `/v1/topics/${part(topic)}`;
const href = (topic) => `#/topics/${part(topic)}`;

export function view(route, signal) {
  return { node: route.parts[0] ? page(route.parts[0], route.query, signal) : overview(signal) };
}

function overview(signal) {
  const list = h("div");
  load(
    list,
    () => getHere("/v1/topics", {}, signal),
    ({ items }) =>
      items.length
        ? h(
            "div.cards",
            {},
            items.map((topic) =>
              h(
                "a.card",
                { href: href(topic.topic), "data-row": true },
                icon("topics", 22),
                h("h2", {}, topic.title || topic.topic),
                h("p.quiet", {}, t("topics.lines", { n: topic.lines }), " · ", when(topic.updated_at)),
              ),
            ),
          )
        : empty(t("topics.empty.title"), t("topics.empty.body"), {
            name: "topics",
            actions: [button(t("topics.new"), create, { kind: "primary", name: "plus" })],
          }),
    { rows: 6, shape: "card", signal },
  );
  return h(
    "div.page",
    {},
    head(
      t("nav.topics"),
      t("topics.lead"),
      button(t("topics.new"), create, { name: "plus", dataset: { action: "new" } }),
    ),
    list,
  );
}

async function create() {
  const name = await dialog(
    t("topics.new"),
    (close) => {
      const input = h("input", {
        type: "text",
        required: true,
        maxlength: "200",
        "data-first": true,
        placeholder: t("topics.name.hint"),
      });
      return h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            if (input.value.trim()) close(input.value.trim());
          },
        },
        field(t("topics.name"), input),
        h(
          "div.actions.end",
          {},
          button(t("cancel"), () => close()),
          h("button.button.primary", { type: "submit" }, t("topics.create")),
        ),
      );
    },
    { class: "narrow" },
  );
  if (name) go(`${href(name)}?edit=1`);
}

function page(topic, query, signal) {
  const box = h("div");
  const read = async () => {
    try {
      return await getHere(path(topic), {}, signal);
    } catch (error) {
      if (error.status === 404 && query.edit)
        return { topic, title: topic, markdown: `# ${topic}\n\n- `, lines: [], isNew: true };
      throw error;
    }
  };
  load(box, read, (found) => (query.edit ? editor(box, found) : reading(box, found)), {
    rows: 6,
    shape: "line",
    signal,
  });
  return h("div.page", {}, h("a.crumb", { href: "#/topics" }, icon("back", 16), t("nav.topics")), box);
}

function reading(box, found) {
  return h(
    "article.topic",
    {},
    h(
      "div.topic-head",
      {},
      h("span.quiet", {}, t("topics.lines", { n: found.lines.length })),
      button(t("topics.edit"), () => replace(box, editor(box, found)), { name: "edit", dataset: { action: "edit" } }),
    ),
    h("div.sheet-of-paper", {}, markdown(found.markdown)),
    found.lines.length > 0 &&
      h(
        "details.lines",
        {},
        h("summary", {}, t("topics.asMemories")),
        h(
          "div.rows",
          {},
          found.lines.map((memory) => memoryRow(memory)),
        ),
      ),
    !found.lines.length && h("p.quiet", {}, t("topics.noLines")),
    found.lines.length > 0 && link(t("topics.filter"), `#/memories?topic=${part(found.topic)}`, { name: "memories" }),
  );
}

function editor(box, found) {
  const text = h("textarea.markdown-source", {
    spellcheck: "true",
    "aria-label": t("topics.source"),
    value: found.markdown,
    rows: "16",
  });
  const preview = h("div.sheet-of-paper.preview", { "aria-label": t("topics.preview") });
  const show = () => replace(preview, markdown(text.value));
  const stop = () => (found.isNew ? go("#/topics") : replace(box, reading(box, found)));
  const panes = h("div.panes", { dataset: { pane: "source" } }, text, preview);
  const save = h("button.button.primary", { type: "submit" }, t("save"));
  text.addEventListener("input", show);
  text.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && (event.key === "Enter" || event.key === "s")) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  const form = h(
    "form.topic-edit",
    {
      onsubmit: (event) => {
        event.preventDefault();
        attempt(save, () => keep(box, found, text.value, false));
      },
    },
    h("div.topic-head", {}, h("p.quiet", {}, t("topics.editNote")), h("div.only-narrow", {}, paneSwitch(panes))),
    panes,
    h("div.actions.end", {}, button(t("cancel"), stop), save),
  );
  show();
  requestAnimationFrame(() => text.focus());
  return form;
}

function paneSwitch(panes) {
  const options = ["source", "preview"].map((pane) => [pane, t(`topics.${pane}`)]);
  return segmented(t("topics.view"), options, "source", (value) => {
    panes.dataset.pane = value;
  });
}

/** Save the page. If the server reports that many lines would be removed, ask for confirmation. */
async function keep(box, found, text, sure) {
  let saved;
  try {
    saved = await put(path(found.topic), {
      ...scope(),
      markdown: text,
      ...(!found.isNew && { base: found.markdown }),
      ...(sure && { confirm: true }),
    });
  } catch (error) {
    if (error.status !== 409 || sure) throw error;
    if (
      await confirm({
        title: t("topics.mass.title"),
        points: [error.detail && serverText(error.detail, error.detailCode), t("topics.mass.body")].filter(Boolean),
        action: t("topics.mass.go"),
        danger: true,
      })
    )
      await keep(box, found, text, true);
    return;
  }
  toast(t("saved"));
  if (found.isNew || saved.topic !== found.topic) go(href(saved.topic));
  else replace(box, reading(box, saved));
}
