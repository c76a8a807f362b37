/** Words what the guard found of others' commits that a shell line rewrites, drops or publishes, and the notes on them. */

import type { GuardedCommand, GuardFinding } from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { frame, plain, quote, shellArgument } from "../../../protocol/text.ts";
import type { CommitNote, NotedCommit } from "../../seam/outcomes.ts";

/** What happened to commits of the reader, and what brings them back. */
export function commitLine({ what, commits, more, other, command }: CommitNote, who: string): string {
  const [first] = commits;
  const all = [...commits.map(named), ...(more === 0 ? [] : [`${more} more`])].join(", ");
  const isOne = commits.length + more === 1;
  const did = command === null ? "" : `\`${plain(command, limits.nameBytes)}\``;
  const by = other === null ? "somebody whom Kite did not see" : did === "" ? who : `${did} of ${who}`;
  if (what === "commit_pushed")
    return `- ${by} published ${isOne ? "a commit" : "commits"} of yours: ${all}. Do not amend or rebase ${isOne ? "it" : "them"} any more.`;
  const them = isOne ? "a commit of yours" : "commits of yours";
  const back = `git branch NAME ${shortId(first?.commit ?? "")}`;
  const pronoun = isOne ? "it" : "them";
  if (what === "commit_rewritten") {
    const now = commits.flatMap(({ now: id }) => (id === undefined ? [] : [shortId(id)]));
    return `- ${by} rewrote ${them}: ${all}. In ${isOne ? "its" : "their"} place: ${now.join(", ")}. Check what is there now, and ask ${other === null ? "your user" : who} if something is missing. The old commit is on no branch; to keep it: ${back}`;
  }
  return `- ${by} took ${them} off: ${all}. No branch, tag or stash entry has ${pronoun} any more. To get ${pronoun} back: ${back}`;
}

function named({ commit, subject }: NotedCommit): string {
  return `${shortId(commit)} ${quote(subject)}`;
}

function shortId(commit: string): string {
  return commit.slice(0, limits.commitIdChars);
}

// The guard's findings.

/** A finding about commits, with the command it is about. */
interface ReachedCommits extends GuardFinding {
  readonly by: GuardedCommand;
}

/** Whether the line is held until it is sent again, or for another reason, or runs. */
type Mode = "first" | "denied" | "warned";

/** The line does something to commits of agents whose sessions are open. */
export function commitTexts(
  found: readonly ReachedCommits[],
  cwd: string,
  mode: Mode,
  isFurther: boolean,
): string {
  const owners = `${frame} ${whose(found)}.`;
  const all = ways(found, cwd).join("\n");
  if (mode === "warned")
    return [
      `Kite: ${effects(found, "will", "")}. The command line runs anyway.`,
      owners,
      `Next time: ${all}`,
    ].join("\n");
  const yet = mode === "first" ? " yet" : "";
  const lead = isFurther ? "Besides, " : `Kite: this command line did not run${yet}: `;
  return [
    `${lead}${effects(found, "would", "in it ")}.`,
    owners,
    `What to do: ${all}`,
    mode === "first"
      ? confirming(found)
      : "Kite does not ask about these commits again when you send this command line later.",
  ].join("\n");
}

const verbs = {
  rewritten: "rewrite",
  dropped: "take off its branch",
  published: "publish",
  unpublished: "take off the remote's branch",
  deleted: "let git delete",
} as const;

type Become = keyof typeof verbs;

function effects(found: readonly ReachedCommits[], will: "would" | "will", where: string): string {
  const texts = found.map(one => {
    const isOne = one.commits?.length === 1 && one.more === 0;
    const what = isOne ? "a commit" : "commits";
    const extra = one.become === "published" ? " who are still at work" : "";
    const agent = peopleIn([one]).length === 1 && one.more === 0 ? "another agent" : "other agents";
    const who =
      agent === "another agent" && extra !== "" ? "another agent who is still at work" : `${agent}${extra}`;
    return `\`${commandName(one)}\` ${where}${will} ${verbs[becomeOf(one)]} ${what} of ${who}`;
  });
  return unique(texts).join(", and ");
}

function becomeOf({ become = "dropped" }: ReachedCommits): Become {
  return become;
}

function commandName({ by }: ReachedCommits): string {
  const { name, refs } = by;
  if (refs?.does === "rewrite" && name.startsWith("git commit")) return "git commit --amend";
  return refs?.does === "end" ? `git ${refs.operation} --${refs.how}` : name;
}

function whose(found: readonly ReachedCommits[]): string {
  const all = new Map(found.flatMap(({ commits = [] }) => commits.map(one => [one.commit, one] as const)));
  const shown = [...all.values()].slice(0, limits.commitsShownMax);
  const more = all.size - shown.length + Math.max(...found.map(one => one.more));
  const texts = shown.map(one => {
    const names = one.who.map(name => quote(name, limits.nameBytes));
    const who =
      names.length > 1 ? `is of one of ${names.join(", ")}` : `is of ${names[0] ?? "another agent"}`;
    return `${named(one)} ${who}`;
  });
  return [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function peopleIn(found: readonly ReachedCommits[]): readonly string[] {
  return unique(found.flatMap(({ commits = [] }) => commits.flatMap(({ who }) => who)));
}

function ways(found: readonly ReachedCommits[], cwd: string): readonly string[] {
  const people = peopleIn(found)
    .slice(0, limits.guardWaysMax)
    .map(who => quote(who, limits.nameBytes))
    .join(" or ");
  return [
    ...unique(found.flatMap(one => way(one, cwd) ?? [])),
    `Or tell ${people} what you need, or ask your user.`,
  ];
}

/** What does the agent's part without the others' commits; null: nothing does. */
function way(one: ReachedCommits, cwd: string): string | null {
  const { by, worktree, commits = [], more, upTo } = one;
  const git = by.dir === cwd && cwd === worktree ? "git" : `git -C ${shellArgument(worktree)}`;
  const [first] = commits;
  const id = shortId(first?.commit ?? "");
  const isOne = commits.length === 1 && more === 0;
  switch (becomeOf(one)) {
    case "rewritten":
      if (commandName(one) === "git commit --amend")
        return "leave out --amend: make a commit of your own on top.";
      return "leave these commits as they are: merge instead, or do it in a worktree of your own.";
    case "dropped":
      if (by.name.startsWith("git reset") && isOne)
        return `to undo it for all, commit the reverse: ${git} revert --no-edit ${id}`;
      return isOne
        ? `put it on a branch first: ${git} branch NAME ${id}`
        : "put them on a branch first, or leave the branch where it is.";
    case "deleted":
      return `put ${isOne ? "it" : "them"} on a branch first: ${git} branch NAME ${id}`;
    case "unpublished":
      return "push without force: fetch, merge what the remote has, and push again; or push to a branch of your own.";
    case "published":
      if (upTo === undefined)
        return "push when they are done; none of your own commits can be pushed without these.";
      return `push your own commits up to before ${isOne ? "it" : "them"}: ${git} push ${shellArgument(upTo.remote)} ${shortId(upTo.commit)}:${shellArgument(`refs/heads/${upTo.branch}`)}`;
  }
}

function confirming(found: readonly ReachedCommits[]): string {
  const isOne = found.length === 1 && found[0]?.commits?.length === 1 && found[0].more === 0;
  const what = isOne ? "that commit" : "those commits";
  return found.every(one => one.become === "published")
    ? `If ${what} may be published, send exactly the same command again: it will run. Kite asks about a commit once.`
    : `If you mean ${what} too, send exactly the same command again: it will run, and ${isOne ? "its author is" : "their authors are"} told.`;
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
