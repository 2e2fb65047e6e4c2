// Links from messages to their traces. They are apart from the page of traces, because the chat needs only these.

import { get, part } from "../api.js";
import { h, icon } from "../dom.js";
import { t } from "../i18n.js";

export const traceLink = (id) => `#/traces/${part(id)}`;

/** The ids of the traces of a session, by the message that was the question. */
export async function tracesOf(session, signal) {
  try {
    const { items } = await get("/v1/traces", { session, limit: 500 }, signal);
    return new Map(items.filter((each) => each.message).map((each) => [each.message, each.id]));
  } catch {
    return new Map(); // a conversation is shown without its traces
  }
}

/** A link to a trace, next to a message. */
export const traceChip = (id) =>
  id
    ? h("a.recalled", { href: traceLink(id), dataset: { action: "trace" } }, icon("search", 15), t("trace.open"))
    : null;
