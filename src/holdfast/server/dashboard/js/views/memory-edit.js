// The form that edits a memory.

import { splitTags } from "../dialogs.js";
import { freshId, h, replace } from "../dom.js";
import { number, t } from "../i18n.js";
import { checkbox, field } from "../ui.js";

export function editInputs(memory) {
  const known = h("datalist", { id: freshId("topics") });
  const importance = h("input", { type: "range", min: "0", max: "10", step: "0.5", value: String(memory.importance) });
  const shownImportance = h("output", {}, number(memory.importance));
  importance.addEventListener("input", () => replace(shownImportance, number(Number(importance.value))));
  return {
    topics: known,
    importance,
    shownImportance,
    text: h("textarea", { rows: "4", value: memory.text }),
    topic: h("input", { type: "text", value: memory.topic ?? "", list: known.id }),
    tags: h("input", { type: "text", value: (memory.tags ?? []).join(", "), placeholder: t("remember.tagsHint") }),
    reason: h("input", { type: "text", placeholder: t("memory.reasonHint") }),
  };
}

export function editFields(inputs, state) {
  return [
    h("h2", {}, t("memory.editTitle")),
    field(t("memory.text"), inputs.text),
    h(
      "div.grid-2",
      {},
      field(t("memory.topic"), inputs.topic),
      field(t("memory.tags"), inputs.tags),
      h("div.range", {}, field(t("memory.importance"), inputs.importance), inputs.shownImportance),
      field(t("memory.reason"), inputs.reason),
    ),
    inputs.topics,
    checkbox(t("remember.pinned"), state.pinned, (value) => {
      state.pinned = value;
    }),
    h("p.quiet", {}, t("memory.editNote")),
  ];
}

/** The fields that were edited. */
export function changes(memory, { text, importance, topic, tags }, pinned) {
  const split = splitTags(tags.value);
  return {
    ...(text.value.trim() !== memory.text && { text: text.value.trim() }),
    ...(Number(importance.value) !== memory.importance && { importance: Number(importance.value) }),
    ...(topic.value.trim() && topic.value.trim() !== memory.topic && { topic: topic.value.trim() }),
    ...(split.join() !== (memory.tags ?? []).join() && { tags: split }),
    ...(pinned !== memory.pinned && { pinned }),
  };
}
