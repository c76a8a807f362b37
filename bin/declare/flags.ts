/** A declaration from the flags of the command line, in their order: `--sees` belongs to the file before it. */
import type { DeclarationParts } from "../../protocol/schemas/declaration.ts";
import type { Read } from "./read.ts";

/** A flag as typed; `value` is empty if the flag takes none. */
export interface Flag {
  readonly name: FlagName;
  readonly value: string;
}

/** The flags that are parts of a declaration, each with what it takes and says; null: it takes nothing. */
export const flagNames = {
  role: ["<role>", "what you are in your team: lead, implementer, reviewer"],
  team: ["<team>", "your team"],
  task: ["<text>", "your task in your own words"],
  confidence: ["<number>", "how sure you are of it, from 0 to 1"],
  reason: ["<text>", "why the confidence is as it is"],
  plan: ["<step>", "a step of your plan, once or more; replaces the plan before"],
  file: ["<path>", "a file that you will change, or a folder with a slash at its end; once or more"],
  sees: ["<text>", "what is there now; behind its --file"],
  will: ["<text>", "what you will do there; behind its --file"],
  drop: ["<path>", "a file that you will not change after all"],
  uncertain: ["<question>", "what you are not sure of, once or more"],
  "settled-by": ["<text>", "what would settle it; behind its --uncertain"],
  evidence: ["<text>", "what you found; behind its --uncertain"],
  resolved: [null, "the question is answered; behind its --uncertain, with --evidence"],
  anew: [null, "begin a new declaration; questions that are open stay"],
} as const satisfies Readonly<Record<string, readonly [string | null, string]>>;

export type FlagName = keyof typeof flagNames;

type Part<P extends keyof DeclarationParts> = NonNullable<DeclarationParts[P]>;

/** Returns the parts that the flags name, or why they are no declaration. */
export function partsOf(flags: readonly Flag[]): Read {
  const identity: Part<"identity"> = {};
  const understanding: Part<"understanding"> = {};
  const codeView: Part<"codeView"> = [];
  const uncertainties: Part<"uncertainties"> = [];
  let anew = false;
  for (const { name, value } of flags) {
    const file = codeView.at(-1);
    const uncertainty = uncertainties.at(-1);
    if (name === "role" || name === "team") identity[name] = value;
    else if (name === "task" || name === "reason") understanding[name] = value;
    else if (name === "plan") understanding.plan = [...(understanding.plan ?? []), value];
    else if (name === "file") codeView.push({ file: value });
    else if (name === "drop") codeView.push({ file: value, drop: true });
    else if (name === "uncertain") uncertainties.push({ question: value });
    else if (name === "anew") anew = true;
    else if (name === "confidence") {
      const number = Number(value);
      if (value.trim() === "" || !(number >= 0 && number <= 1))
        return { error: `--confidence takes a number from 0 to 1, not ${value}` };
      understanding.confidence = number;
    } else if (name === "sees" || name === "will") {
      if (file === undefined || file.drop === true)
        return { error: `--${name} belongs to a file: write it behind --file PATH` };
      file[name] = value;
    } else {
      if (uncertainty === undefined)
        return { error: `--${name} belongs to a question: write it behind --uncertain QUESTION` };
      if (name === "settled-by") uncertainty.settledBy = value;
      else if (name === "evidence") uncertainty.evidence = value;
      else uncertainty.resolved = true;
    }
  }
  const parts = {
    ...(Object.keys(identity).length > 0 ? { identity } : {}),
    ...(Object.keys(understanding).length > 0 ? { understanding } : {}),
    ...(codeView.length > 0 ? { codeView } : {}),
    ...(uncertainties.length > 0 ? { uncertainties } : {}),
    ...(anew ? { anew } : {}),
  };
  return { parts };
}
