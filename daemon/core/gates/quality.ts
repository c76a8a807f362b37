import { understandingMissing, viewMissing } from "../declarations/missing.ts";
import type { CheckFact, CompletionFacts } from "./facts.ts";

/** A task is done when it is understood, its files are written, its questions are answered and its checks are green. */
export function quality({
  declaration,
  checks,
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
    ...checks.flatMap(missingCheck),
    ...(openDebate === null ? [] : [`debate: ${openDebate} is open; close it with a verdict`]),
  ];
}

/** An agent may write the file that names them: to change a check is no way around it. */
const changed =
  "checks: they changed since a person trusted them; ask your user to read them and run: kite trust (kite trust --revoke, if they are gone for good)";

function missingCheck({ name, state }: CheckFact): readonly string[] {
  switch (state) {
    case "green":
    case "unknown":
      return [];
    case "red":
      return [`checks: ${name} failed; mend what it found, then run: kite check ${name}`];
    case "stale":
      return [`checks: files changed since ${name} ran; run: kite check ${name}`];
    case "never_run":
      return [`checks: ${name} was not run; run: kite check ${name}`];
  }
}
