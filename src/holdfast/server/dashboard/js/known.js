// Cached data that several views need and that rarely changes: the caller, the kinds and the topics.

import { get, getHere } from "./api.js";

let cache = {};

/** Clear the cache. */
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

/** The chat model that was chosen for the next start of the server, or null. Only the operator may ask. */
export const nextChat = async () => {
  try {
    const { items } = await get("/v1/models");
    return items.find((model) => model.role === "chat")?.next ?? null;
  } catch {
    return null;
  }
};

/** The topics of the scope, or an empty list on failure: they are only suggestions. */
export const topics = async () => {
  try {
    return (await getHere("/v1/topics")).items;
  } catch {
    return [];
  }
};

/** @param {PromiseSettledResult<any>} result */
const value = (result) => (result.status === "fulfilled" ? result.value : null);

/** The users, apps and agents that the lists of users, sessions and apps name. */
export const names = () =>
  once("names", async () => {
    const found = { user: new Set(), app: new Set(), agent: new Set() };
    const [users, sessions, apps] = await Promise.allSettled([
      get("/v1/users", { limit: 500 }),
      get("/v1/sessions", { limit: 500 }),
      get("/apps"),
    ]);
    for (const { user } of value(users)?.items ?? []) found.user.add(user);
    for (const session of value(sessions)?.items ?? [])
      for (const part of Object.keys(found)) if (session[part]) found[part].add(session[part]);
    for (const app of value(apps)?.apps ?? []) found.app.add(app.appId);
    return Object.fromEntries(Object.entries(found).map(([part, all]) => [part, [...all].sort()]));
  });
