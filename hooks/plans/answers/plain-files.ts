/** Words what came of the files that a line's plain commands name. */

import { limits } from "../../../protocol/limits.ts";
import { frame, nearPath, quote } from "../../../protocol/text.ts";
import type { NamedFiles } from "../../seam/actions.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import type { Asking } from "../plan-parts.ts";
import { type Answer, alsoTellPerson, deny, outcomeOf, type Reader, withContext } from "./answer.ts";
import { doing, lossOf, owned } from "./guard.ts";
import { changedText, type Edit, type Edits, lineTool, refusedText, unkeptText } from "./lock.ts";
import { gitLockDenied, gitLockWarned } from "./shared-places.ts";

/** The shell line of the event. `waitMs` is the longest wait for its files, in milliseconds. */
interface NamingLine extends Reader {
  readonly named: NamedFiles;
  readonly waitMs: number;
}

type Looked = Extract<HookOutcome, { did: "plain_files"; ok: true }>;
type Refused = Extract<HookOutcome, { ok: false }>;

/** A denial, else the answer of the guard of git commands, with what is to be said of the files beside it. */
export function plainAnswer(line: NamingLine, outcomes: readonly HookOutcome[], rest: () => Answer): Answer {
  const refused = outcomes.find((one): one is Refused => !one.ok && one.did === "plain_files");
  if (refused !== undefined) {
    if (refused.verdict === "deny") return deny(refusedText(editOf(line, refused), refused));
    return alsoTellPerson(
      rest(),
      `Kite did not coordinate the files of this command line: ${quote(refused.refusal.error)}`,
    );
  }
  const looked = outcomeOf(outcomes, "plain_files");
  if (looked === undefined || looked.verdict === "allow") return rest();
  const { gitLocks = [] } = looked;
  if (looked.verdict === "deny")
    return deny(
      [
        ...(gitLocks.length === 0 ? [] : [gitLockDenied(gitLocks, line.cwd)]),
        ...(looked.wiped.length === 0 ? [] : [deniedText(line, looked)]),
      ].join("\n"),
    );
  const texts = [
    ...(gitLocks.length === 0 ? [] : [gitLockWarned(gitLocks, line.cwd)]),
    ...(looked.wiped.length === 0 ? [] : [warnedText(line, looked)]),
    ...(looked.changedWhileWaiting
      ? [changedText({ ...editOf(line, null), file: looked.file ?? "" }, looked)]
      : []),
    ...(looked.unkept.length === 0 ? [] : [unkeptText(editOf(line, null), looked.unkept)]),
  ];
  return withContext(rest(), texts.join("\n"));
}

/** The line as an edit of the file that it was refused. */
function editOf({ named, ...line }: NamingLine, refused: Refused | null): Edit {
  const path = refused?.refusal["path"];
  const file = typeof path === "string" ? path : (refused?.holder?.file ?? named.edited[0]?.path ?? "");
  return { ...line, tool: lineTool, file };
}

function deniedText(line: NamingLine, looked: Looked): string {
  // Of those for whom the agent works: it may mean what it does.
  if (looked.wiped.every(({ isLead }) => isLead))
    return [
      `Kite: this command line did not run yet: ${names(looked)} in it ${loss(looked, mayBe)}.`,
      notes(line, looked),
      `What to do: leave out ${filesOf(looked)}, or tell ${people(looked)} first.`,
      "If you mean their work, send exactly the same command again: it will run.",
    ].join("\n");
  return [
    `Kite: this command line did not run: ${names(looked)} in it ${loss(looked, mayBe)}.`,
    notes(line, looked),
    `What to do: leave out ${filesOf(looked)}, work in a worktree of your own (git worktree add), ` +
      `tell ${people(looked)} what you need, or ask your user.`,
  ].join("\n");
}

function warnedText(line: NamingLine, looked: Looked): string {
  const isLeft = looked.wiped.every(({ leftMs }) => leftMs !== null);
  return [
    `Kite: ${names(looked)} ${loss(looked, itDoes)}. The command line runs anyway.`,
    notes(line, looked),
    isLeft
      ? "Next time: look first what the ended session left (git diff, git status), and commit what is worth keeping."
      : `Next time: leave out ${filesOf(looked)}, or tell ${people(looked)} first.`,
  ].join("\n");
}

function names({ wiped }: Looked): string {
  return [...new Set(wiped.map(({ command }) => `\`${command}\``))].join(" and ");
}

const mayBe = { wipe: "may wipe", change: "may change or remove" } as const;
const itDoes = { wipe: "wipes", change: "changes or removes" } as const;

function loss({ wiped, more }: Looked, verbs: typeof mayBe | typeof itDoes): string {
  return lossOf(wiped, more, verbs);
}

function filesOf({ wiped, more }: Looked): string {
  return wiped.length + more === 1 ? "this file" : "these files";
}

function people({ wiped }: Looked): string {
  const all = [
    ...new Set(wiped.flatMap(({ who, answerer = who, leftMs }) => (leftMs === null ? [answerer] : []))),
  ];
  return all
    .slice(0, limits.guardWaysMax)
    .map(who => quote(who, limits.nameBytes))
    .join(" or ");
}

function notes({ cwd }: NamingLine, { wiped, more }: Looked): string {
  const shown = wiped.slice(0, limits.guardFilesShownMax);
  const rest = wiped.length - shown.length + more;
  const texts = shown.map(file => owned(nearPath(file.path, cwd), file, file.isSeen));
  return [
    `${frame} ${[...texts, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ")}.`,
    ...doing(shown),
  ].join(" ");
}

// Asks whether a step would write Kite's own files, and words the refusal: with the command by which a person changes them.

const did = "check_own_files";

export const writeOwnFiles: Asking<Pick<Edit, "tool" | "file" | "cwd">> = {
  did,
  asks: ({ file, cwd }, actor) => ({ do: did, ...actor, cwd, files: [file] }),
  answer: ({ tool }, outcomes, rest) => refusedOr(`this ${tool}`, outcomes, rest),
};

export const patchOwnFiles: Asking<Pick<Edits, "tool" | "files" | "cwd">> = {
  did,
  asks: ({ files, cwd }, actor) => ({ do: did, ...actor, cwd, files }),
  answer: ({ tool }, outcomes, rest) => refusedOr(`this ${tool}`, outcomes, rest),
};

export const shellOwnFiles: Asking<{ readonly cwd: string; readonly written: readonly string[] }> = {
  did,
  asks: ({ cwd, written }, actor) =>
    written.length === 0 ? null : { do: did, ...actor, cwd, files: written },
  answer: (_step, outcomes, rest) => refusedOr("this command line", outcomes, rest),
};

function refusedOr(what: string, outcomes: readonly HookOutcome[], rest: () => Answer): Answer {
  const found = outcomeOf(outcomes, did);
  if (found === undefined) return rest();
  const { name, path } = found;
  return deny(
    [
      `Kite: ${what} did not run: ${quote(path, limits.pathBytes)} is Kite's own, and no agent changes it.`,
      `What to do: ${wayOf(name)}`,
    ].join("\n"),
  );
}

/** By the first part of a file's name: the commands by which a person changes it. */
const commands: Readonly<Record<string, string>> = {
  "trusted.json": "kite check --trust, in the project",
  "config.json": "kite config set KEY VALUE",
  off: "kite off, kite on",
  "off.json": "kite off, kite on",
  down: "kite down, kite up",
  bin: "kite install",
  "installs.json": "kite install, kite uninstall",
  "servers.json": "kite install, kite uninstall",
  "plugins.json": "kite plugin",
  journal: "kite repair",
};

function wayOf(name: string): string {
  const [first = ""] = name.split("/");
  const command = Object.hasOwn(commands, first) ? commands[first] : undefined;
  return command === undefined
    ? "leave it: Kite's programs alone write it. If something is wrong with it, tell your user to run kite doctor."
    : `ask your user to change it, in a terminal of their own: ${command}`;
}

// Words that what a line wipes is not kept yet.

/** A denial, else what `rest` says, perhaps with a word beside it. */
export function keepWorkAnswer(cwd: string, outcomes: readonly HookOutcome[], rest: () => Answer): Answer {
  const found = outcomeOf(outcomes, "keep_work");
  if (found === undefined || found.verdict === "allow") return rest();
  const { files, more } = found;
  const names = files.map(file => quote(nearPath(file, cwd))).join(", ");
  const what = `${names}${more === 0 ? "" : ` and ${more} more`}`;
  if (found.verdict === "allow_with_note")
    return withContext(rest(), `Kite: this line wipes ${what}, and Kite has no copy of it yet.`);
  return deny(
    [
      `Kite: this command line did not run yet: it wipes uncommitted work in ${what}, and Kite has not stored a copy of it yet.`,
      "What to do: send exactly the same command again: it will run.",
    ].join("\n"),
  );
}
