/** Does what doctor's checks advise, one step after the other, each after a question. */
import { LocalError } from "../../client/errors.ts";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { type AskPerson, isYes } from "../ask-person.ts";
import { personLine } from "../person.ts";
import { type ProcessContext, print, screenOf } from "../process-context.ts";
import type { Check, Fix } from "../view/doctor.ts";
import { paragraphs } from "../view/text.ts";

/** A step that was done. */
export interface Step {
  readonly fix: string;
  /** Why it failed. */
  readonly failed?: string;
}

/** A mended fault can uncover another one, such as a daemon that can start again. */
const roundsMax = 4;

/** Who answers, and what is printed. */
export interface FixOptions {
  /** Asks the person; null: `--yes` answered every question. */
  readonly ask: AskPerson | null;
  readonly isQuiet: boolean;
  /** An agent runs doctor: what only a person may do is refused, with the line for the person. */
  readonly isAgent: boolean;
}

/**
 * Asks for each fix of `checks` and does it, then checks again, until no new fix is found. The same fix is offered once:
 * a step that did not help is for a person. Returns the last checks.
 */
export async function fixAll(
  world: ProcessContext,
  checks: Check[],
  { ask, isQuiet, isAgent }: FixOptions,
  check: () => Promise<Check[]>,
): Promise<{ readonly checks: Check[]; readonly steps: readonly Step[] }> {
  const steps: Step[] = [];
  const offered = new Set<string>();
  let found = checks;
  for (let round = 0; round < roundsMax; round += 1) {
    const fresh = distinct(found).filter(({ does }) => !offered.has(does));
    let isDone = false;
    for (const fix of fresh) {
      offered.add(fix.does);
      if (!isQuiet) print(world, ["", ...paragraphs(fix.does, screenOf(world).width)]);
      const refusal = refusalOf(world, fix, ask, isAgent);
      if (refusal !== null) {
        steps.push({ fix: fix.does, failed: refusal });
        if (!isQuiet) print(world, paragraphs(refusal, screenOf(world).width));
        continue;
      }
      if (ask !== null && !isYes(await ask("Do this? [y/N] "))) continue;
      const step = await done(world, fix, ask);
      steps.push(step.step);
      if (!isQuiet) print(world, paragraphs(step.said, screenOf(world).width));
      isDone = true;
    }
    if (!isDone) break;
    if (!isQuiet) print(world, [""]);
    found = await check();
  }
  return { checks: found, steps };
}

/** Returns why this caller does not do the step, or null. */
function refusalOf(world: ProcessContext, fix: Fix, ask: AskPerson | null, isAgent: boolean): string | null {
  if (isAgent && fix.byAgents !== true) return personLine(world, "fix", fix.does);
  if (fix.givesUp !== true || ask !== null) return null;
  return `--yes does not stand for this: it gives up what is stored; run it yourself: ${fix.does}`;
}

/** Several checks may advise the same step. */
function distinct(checks: readonly Check[]): Fix[] {
  return [...new Map(checks.flatMap(({ fix }) => (fix === undefined ? [] : [[fix.does, fix]]))).values()];
}

async function done(
  world: ProcessContext,
  fix: Fix,
  ask: AskPerson | null,
): Promise<{ readonly step: Step; readonly said: string }> {
  try {
    const said = await fix.work(world, ask);
    return { step: { fix: fix.does }, said: said === "" ? "done" : said };
  } catch (error) {
    if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
    const failed = errorText(error);
    return { step: { fix: fix.does, failed }, said: `this failed: ${failed}` };
  }
}
