/**
 * What a `git push` would publish, and what it would take off the remote's branches, as far as this repository knows it.
 *
 * No network: the remote-tracking branches say what the remote has. What the line or the settings leave open publishes
 * nothing here, so that nobody is refused for it.
 */

import type { PushUse } from "../../../protocol/guard.ts";
import type { Unreachable } from "../../facts/filesystem.ts";
import type { ListedCommit } from "../../facts/git/commits.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";

/** One ref of the remote that a push sets. */
export interface PushUpdate {
  /** A revision here; null: the push deletes the ref. */
  readonly from: string | null;
  /** The full name of the ref there. */
  readonly to: string;
  readonly isForced: boolean;
}

export interface PushPlan {
  /** The remote's name; null: it is a URL without a name. */
  readonly remote: string | null;
  readonly updates: readonly PushUpdate[];
}

/** Settings of git by their names, each with all its values. */
type Settings = ReadonlyMap<string, readonly string[]>;

const pushSettings = "^(push\\.default|remote\\.pushdefault|branch\\..*|remote\\..*\\.(push|url|mirror))$";

/** What a push of these words does; `branch`: the one that HEAD is on. `branches`: all that are here, by short names. */
export function pushPlan(
  use: PushUse,
  settings: Settings,
  branch: string | null,
  branches: readonly string[],
): PushPlan | null {
  if (use.refs === null) return null;
  const one = (key: string) => settings.get(key)?.at(-1);
  const own = (key: string) => (branch === null ? undefined : one(`branch.${branch}.${key}`));
  const named = use.remote ?? own("pushremote") ?? one("remote.pushdefault") ?? own("remote") ?? "origin";
  const isNamed = settings.has(`remote.${named}.url`);
  const byUrl = [...settings].find(([key, urls]) => /^remote\..*\.url$/.test(key) && urls.includes(named));
  const remote = isNamed ? named : (byUrl?.[0].slice("remote.".length, -".url".length) ?? null);
  const isMirror = one(`remote.${named}.mirror`) === "true";
  const isForced = use.isForced === true || isMirror;
  const all = () =>
    branches.map(name => ({ from: `refs/heads/${name}`, to: `refs/heads/${name}`, isForced }));
  if (use.isAll || isMirror) return { remote, updates: all() };
  const specs =
    use.refs.length > 0 ? use.refs : use.isTags ? [] : (settings.get(`remote.${named}.push`) ?? null);
  if (specs === null) return { remote, updates: byDefault(one, own, { branch, named, isForced, all }) };
  const updates = joined(specs).flatMap(spec =>
    isGroup(spec) ? all() : (updateOf(spec, use, branch) ?? []),
  );
  return { remote, updates };
}

interface Defaults {
  readonly branch: string | null;
  readonly named: string;
  readonly isForced: boolean;
  readonly all: () => readonly PushUpdate[];
}

/** A push that names no ref. */
function byDefault(
  one: (key: string) => string | undefined,
  own: (key: string) => string | undefined,
  { branch, named, isForced, all }: Defaults,
): readonly PushUpdate[] {
  const way = one("push.default") ?? "simple";
  if (way === "matching") return all();
  if (way === "nothing" || branch === null) return [];
  const isUpstream = /^(?:upstream|tracking)$/.test(way) && own("remote") === named;
  const to = isUpstream ? (own("merge") ?? null) : `refs/heads/${branch}`;
  return to === null ? [] : [{ from: `refs/heads/${branch}`, to, isForced }];
}

/** `tag NAME` is one word. */
function joined(words: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const next = words[i + 1];
    if (words[i] === "tag" && next !== undefined) {
      found.push(`refs/tags/${next}`);
      i += 1;
    } else found.push(words[i] ?? "");
  }
  return found;
}

function isGroup(spec: string): boolean {
  return /^\+?:$/.test(spec) || spec.includes("*");
}

function updateOf(spec: string, use: PushUse, branch: string | null): PushUpdate | null {
  const isForced = spec.startsWith("+") || use.isForced === true;
  const text = spec.replace(/^\+/, "");
  const colon = text.indexOf(":");
  const from = colon === -1 ? text : text.slice(0, colon);
  const to = colon === -1 ? text : text.slice(colon + 1);
  if (use.isDeleting) return { from: null, to: fullName(text, branch), isForced: true };
  if (to === "") return null;
  return { from: from === "" ? null : from, to: fullName(to, branch), isForced: isForced || from === "" };
}

function fullName(name: string, branch: string | null): string {
  const at = (name === "HEAD" || name === "@") && branch !== null ? branch : name;
  if (at.startsWith("refs/")) return at;
  return /^(?:heads|tags)\//.test(at) ? `refs/${at}` : `refs/heads/${at}`;
}

/** The commits of a push. */
export interface PushLook {
  readonly remote: string | null;
  /** What it would publish: the latest first. */
  readonly published: readonly ListedCommit[];
  /** What it would take off the remote's branches. */
  readonly unpublished: readonly ListedCommit[];
  /** The branch there and its remote-tracking branch here, if the push sets one branch alone. */
  readonly only: { readonly branch: string; readonly has: string | null } | null;
}

/** Looks at what a push would do; null: the line or the settings leave it open. */
export async function pushLook(
  { facts }: Services,
  place: GitPlace,
  use: PushUse,
): Promise<PushLook | null | Unreachable> {
  const { history, heads } = facts;
  const [settings, head] = await Promise.all([history.settings(place, pushSettings), heads.now(place)]);
  if ("unreachable" in settings) return settings;
  if ("unreachable" in head) return head;
  const known = await history.refs(place, "refs/heads", "refs/remotes");
  if ("unreachable" in known) return known;
  const short = [...known.keys()].flatMap(name => /^refs\/heads\/(.+)$/.exec(name)?.[1] ?? []);
  const branch = /^refs\/heads\/(.+)$/.exec(head.ref ?? "")?.[1] ?? null;
  const plan = pushPlan(use, settings, branch, short);
  if (plan === null || plan.updates.length === 0) return null;
  const { remote } = plan;
  const tracking = (to: string) =>
    remote === null ? undefined : known.get(to.replace(/^refs\/heads\//, `refs/remotes/${remote}/`));
  const ids = new Map<PushUpdate, string>();
  for (const update of plan.updates) {
    if (update.from === null) continue;
    const found = known.get(update.from) ?? (await commitNamed(facts, place, update.from));
    if (found !== null) ids.set(update, found);
  }
  const there = remote === null ? ["--remotes"] : [`--remotes=${remote}`];
  const published = await history.between(place, [...new Set(ids.values())], there);
  if ("unreachable" in published) return published;
  const unpublished: ListedCommit[] = [];
  for (const update of plan.updates) {
    const has = tracking(update.to);
    if (has === undefined || !update.isForced) continue;
    const to = ids.get(update);
    // What another branch of the remote has stays published.
    const own = `refs/remotes/${remote}/${update.to.slice("refs/heads/".length)}`;
    const others = [`--exclude=${own}`, `--glob=refs/remotes/${remote}`];
    const off = await history.between(place, [has], to === undefined ? others : [to]);
    if ("unreachable" in off) return off;
    unpublished.push(...off);
  }
  const [first] = plan.updates;
  const isOne = plan.updates.length === 1 && first?.from != null && first.to.startsWith("refs/heads/");
  const only = isOne
    ? { branch: first.to.slice("refs/heads/".length), has: tracking(first.to) ?? null }
    : null;
  return { remote, published, unpublished, only };
}

/** The id of a revision's commit; null: there is none, or it cannot be told. */
export async function commitNamed(
  { heads }: Pick<Services["facts"], "heads">,
  place: GitPlace,
  revision: string,
): Promise<string | null> {
  const found = await heads.revision(place, revision);
  return found === null || "unreachable" in found ? null : found.commit;
}

/**
 * Returns the latest commit that can be pushed without any held one, and with it one of the actor's own; null: there is none.
 * `commits`: those that would be published, the latest first, each before its parents.
 */
export function upToBefore(
  commits: readonly ListedCommit[],
  isHeld: (commit: string) => boolean,
  isOwn: (commit: string) => boolean,
): string | null {
  const clean = new Map<string, { readonly hasOwn: boolean } | null>();
  for (const { commit, parents } of commits.toReversed()) {
    const below = parents.filter(parent => clean.has(parent)).map(parent => clean.get(parent) ?? null);
    const isClean = !isHeld(commit) && below.every(one => one !== null);
    const hasOwn = isOwn(commit) || below.some(one => one?.hasOwn === true);
    clean.set(commit, isClean ? { hasOwn } : null);
  }
  return commits.find(({ commit }) => clean.get(commit)?.hasOwn === true)?.commit ?? null;
}
