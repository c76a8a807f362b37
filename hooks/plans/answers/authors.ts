/** Words what the guard found of others' commits that a shell line rewrites, drops or publishes, and the notes on them. */

import { limits } from "../../../protocol/limits.ts";
import { plain, quote } from "../../../protocol/text.ts";
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
