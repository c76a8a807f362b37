/** Which git commands write: a commit, a branch, a tag, the index or the working tree. What is not listed passes. */
import type { Value } from "../shell/variables.ts";
import { type GitCall, reachOf } from "./command.ts";
import { has, readArguments } from "./options.ts";
import { operands } from "./reach.ts";

/** These write in every form that they have, but for those that only tell something. */
const always: ReadonlySet<string> = new Set(
  (
    "am apply checkout cherry-pick fast-import filter-branch merge mv pull push rebase reset restore revert rm " +
    "sparse-checkout switch update-index update-ref"
  ).split(" "),
);

/** These write if their first word is one of these. */
const byVerb: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    bisect: "bad good new old reset run skip start",
    notes: "add append copy edit merge prune remove",
    reflog: "delete expire",
    stash: "apply branch clear drop pop push save store",
    submodule: "absorbgitdirs add deinit init set-branch set-url sync update",
    worktree: "add lock move prune remove repair unlock",
  }).map(([name, verbs]) => [name, new Set(verbs.split(" "))]),
);

/** With one of these `branch` and `tag` only list. */
const listing = [
  "-l",
  "--list",
  "-a",
  "--all",
  "-r",
  "--remotes",
  "--contains",
  "--no-contains",
  "--merged",
  "--no-merged",
  "--points-at",
  "--show-current",
] as const;
/** With one of these they change one that there is. */
const changing = {
  branch: [
    "-d",
    "-D",
    "-m",
    "-M",
    "-c",
    "-C",
    "-f",
    "-u",
    "--delete",
    "--move",
    "--copy",
    "--set-upstream-to",
  ],
  tag: ["-d", "--delete"],
} as const;

/** Whether the call writes, as far as its own words tell. */
export function gitWrites(call: GitCall): boolean {
  const { name, args } = call;
  if (!name.known || args.some(isIdle)) return false;
  const reach = reachOf(call, null);
  if (reach !== null && reach.needsIndex !== false) return true;
  const { text } = name;
  if (always.has(text)) return true;
  const given = readArguments(args, {});
  const [first] = operands(given);
  const verbs = byVerb.get(text);
  if (verbs !== undefined) return first?.known === true && verbs.has(first.text);
  if (text !== "branch" && text !== "tag") return false;
  if (has(given, ...changing[text])) return true;
  const isListing = has(given, ...listing) || (text === "tag" && has(given, "-n", "-v", "--verify"));
  return first !== undefined && !isListing;
}

/** Whether git itself has a command of this name, and this file knows it. */
export function isWriter(name: string): boolean {
  return always.has(name) || byVerb.has(name);
}

/** With one of these a command only tells something. */
function isIdle({ text }: Value): boolean {
  return /^(?:-h|--help|--dry-run|--check|--stat|--numstat|--summary)$/.test(text);
}
