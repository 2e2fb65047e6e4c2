// What several views need to know and that seldom changes: who we are, the kinds, and the names there are.

import { get, getHere } from "./api.js";

let cache = {};

/** Forget what was learnt; the next to ask asks the server. */
export function renew() {
  cache = {};
}

function once(name, work) {
  cache[name] ??= work().catch((error) => {
    delete cache[name];
    throw error;
  });
  return cache[name];
}

export const me = () => once("me", () => get("/v1/me"));
export const kinds = () =>
  once("kinds", async () => {
    const found = await get("/v1/kinds");
    return (found.items ?? found).map((kind) => (typeof kind === "string" ? { name: kind, meaning: "" } : kind));
  });

/** The topics of the scope, or none where they cannot be had: they only help to type. */
export const topics = async () => {
  try {
    return (await getHere("/v1/topics")).items;
  } catch {
    return [];
  }
};

/** The users, apps and agents that are known from conversations and the registry. */
export const names = () =>
  once("names", async () => {
    const found = { user: new Set(), app: new Set(), agent: new Set() };
    const [sessions, apps] = await Promise.allSettled([get("/v1/sessions", { limit: 500 }), get("/apps")]);
    for (const session of sessions.value?.items ?? [])
      for (const part of Object.keys(found)) if (session[part]) found[part].add(session[part]);
    for (const app of apps.value?.apps ?? []) found.app.add(app.appId);
    return Object.fromEntries(Object.entries(found).map(([part, all]) => [part, [...all].sort()]));
  });
