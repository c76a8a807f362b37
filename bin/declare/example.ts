/** A filled declaration to begin with, in YAML. */

import { declarationExample as example } from "../../protocol/codes.ts";
import type { DeclarationRow } from "../../protocol/schemas/declaration.ts";
import { escaped, nearPath } from "../../protocol/text.ts";

/** What is known of the agent that asks. */
export interface KnownOfAgent {
  readonly declaration: DeclarationRow | null;
  /** Its claimed task's description; null: it has claimed none. */
  readonly task: string | null;
  /** Absolute paths of the files that it has open, the latest last. */
  readonly files: readonly string[];
  readonly cwd: string;
}

export const nothingKnown: KnownOfAgent = { declaration: null, task: null, files: [], cwd: "/" };

const filesShownMax = 5;

/** Returns the example, with what is known of the agent in the place of made-up words. */
export function exampleOf({ declaration, task, files, cwd }: KnownOfAgent): string {
  const known = declaration?.files.map(({ path, dir, sees, will }) => {
    return { file: `${nearPath(path, cwd)}${dir ? "/" : ""}`, sees, will };
  });
  const open = files.slice(-filesShownMax).map(file => ({ file: nearPath(file, cwd), sees: "", will: "" }));
  const view = [known, open, [{ file: "src/session-store.ts", sees: "", will: "" }]].find(
    list => list !== undefined && list.length > 0,
  );
  const plan = declaration?.plan.length ? declaration.plan : [example.step];
  return [
    "# Say it in your own words: what is copied from here counts as missing. A part that you leave out stays as it was.",
    "identity:",
    `  role: ${text(declaration?.role, "implementer")}  # lead, implementer, reviewer, ...`,
    ...(declaration?.team ? [`  team: ${text(declaration.team)}`] : []),
    "understanding:",
    `  task: ${text(declaration?.task, task, example.task)}`,
    `  confidence: ${declaration?.confidence ?? 0.8}  # 0 to 1`,
    `  reason: ${text(declaration?.reason, example.reason)}`,
    "  plan:",
    ...plan.map(step => `    - ${text(step)}`),
    "codeView:  # the files that you will change",
    ...(view ?? []).flatMap(({ file, sees, will }) => [
      `  - file: ${text(file)}`,
      `    sees: ${text(sees, example.sees)}`,
      `    will: ${text(will, example.will)}`,
    ]),
    ...questions(declaration),
  ].join("\n");
}

/** Without known questions only a comment: a made-up question would stay open. */
function questions(declaration: DeclarationRow | null): string[] {
  const known = declaration?.uncertainties ?? [];
  if (known.length === 0) {
    return [
      "# uncertainties:  # what you are not sure of",
      `#   - question: ${text("Is the store called twice at a login?")}`,
      `#     settledBy: ${text("a test that counts the calls")}`,
      `#     evidence: ${text("what you found")}`,
      "#     resolved: true  # with evidence only",
    ];
  }
  return [
    "uncertainties:",
    ...known.flatMap(({ question, settledBy, evidence, resolved }) => [
      `  - question: ${text(question)}`,
      ...(settledBy === "" ? [] : [`    settledBy: ${text(settledBy)}`]),
      ...(evidence === "" ? [] : [`    evidence: ${text(evidence)}`]),
      ...(resolved ? ["    resolved: true"] : []),
    ]),
  ];
}

/** Returns the first text that is not empty as a JSON string, which YAML reads, too. */
function text(...texts: readonly (string | null | undefined)[]): string {
  return escaped(JSON.stringify(texts.find(one => one !== undefined && one !== null && one !== "") ?? ""));
}
