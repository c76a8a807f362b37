import { limits } from "../../../../protocol/limits.ts";
import { understandingMissing, viewMissing } from "../declarations/missing.ts";
import type { CheckFact, CompletionFacts, Unseen } from "./facts.ts";

/** A task is done when it is understood, its files are written, its questions are answered and its checks are green. */
export function quality({
  declaration,
  checks,
  worktree,
  unseen,
  checksChanged,
  openDebate,
}: CompletionFacts): readonly string[] {
  const files = declaration?.files ?? [];
  const open = (declaration?.uncertainties ?? []).filter(({ resolved }) => !resolved);
  return [
    ...understandingMissing(declaration),
    ...viewMissing(files.filter(({ touched }) => touched)),
    ...files
      .filter(({ touched }) => !touched)
      .map(
        ({ path }) =>
          `codeView: you declared ${path} and did not write it; write it, or strike it off (drop)`,
      ),
    ...open.map(({ question, settledBy }) => {
      const by = settledBy === "" ? "" : ` (${settledBy} settles it)`;
      return `uncertainties: "${question}" is open${by}; resolve it with evidence`;
    }),
    ...(checksChanged ? [changed] : []),
    ...checks.flatMap(check => missingCheck(check, worktree)),
    ...(unseen === null || unseen.isSpent ? [] : [blind(unseen)]),
    ...(openDebate === null ? [] : [`debate: ${openDebate} is open; close it with a verdict`]),
  ];
}

/** An agent may write the file that names them: to change a check is no way around it. */
export const changed =
  "checks: they changed since a person trusted them, or the gates beside them did; trusted gates stay in force; ask your user to read them and run: kite check --trust";

function blind({ why }: Unseen): string {
  return `checks: Kite could not look at them (${why}); put that right, then complete the task again`;
}

/** What an agent is told that passes all the same, and what the trail keeps. */
export function passedOver({ checks, unseen }: CompletionFacts): readonly string[] {
  const blindly = `checks unseen: Kite could not look at them (${unseen?.why}); the task passes without them`;
  return [...(unseen?.isSpent === true ? [blindly] : []), ...checks.flatMap(passedCheck)];
}

function passedCheck(check: CheckFact): readonly string[] {
  const { name } = check;
  if (check.state === "unsettled")
    return [
      `checks unsettled: ${name} was green each time, and then files changed again; the task passes, and ${name} says nothing of the files as they are now`,
    ];
  if (check.state !== "overtaken" || check.files.length === 0) return [];
  const shown = check.files.slice(0, limits.overtakenFilesMax);
  const more = check.files.length - shown.length;
  const which = shown.map(({ file, by }) => `${file} (${by})`).join(", ");
  const rest = more === 0 ? "" : ` and ${more} more`;
  return [`checks overtaken: ${name} was green with your work; later others changed ${which}${rest}`];
}

/** Names the worktree: the agent that runs the check may stand in another one. */
function missingCheck({ name, state }: CheckFact, worktree: string): readonly string[] {
  switch (state) {
    case "green":
    case "overtaken":
    case "unsettled":
      return [];
    case "red":
      return [
        `checks: ${name} failed in ${worktree}; mend what it found, then run there: kite check ${name}`,
      ];
    case "stale":
      return [`checks: files changed in ${worktree} since ${name} ran; run there: kite check ${name}`];
    case "never_run":
      return [`checks: ${name} was not run in ${worktree}; run there: kite check ${name}`];
  }
}
