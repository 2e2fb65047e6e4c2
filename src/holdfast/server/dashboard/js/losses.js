// The exact numbers of what an erasure removes, for the dialogs that ask for confirmation.

import { post } from "./api.js";
import { t } from "./i18n.js";

const COUNTS = ["memories", "live", "derived", "rebuilt", "revisions", "messages", "sessions", "hidden"];

/** Count what erasing one or several targets removes. A target is the body of an erasure. */
export async function countLosses(...targets) {
  const found = await Promise.all(targets.map((target) => post("/v1/erase/preview", target)));
  return Object.fromEntries(COUNTS.map((name) => [name, found.reduce((sum, each) => sum + each[name], 0)]));
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
