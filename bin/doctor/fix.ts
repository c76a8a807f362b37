/** Does what doctor's checks advise, one step after the other, each after a question. */
import { LocalError } from "../../client/errors.ts";
import { errorText, isSystemError } from "../../protocol/system-error.ts";
import { type AskPerson, isYes } from "../ask-person.ts";
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

/**
 * Asks for each fix of `checks` and does it, then checks again, until no new fix is found. The same fix is offered once:
 * a step that did not help is for a person. Returns the last checks.
 */
export async function fixAll(
  world: ProcessContext,
  checks: Check[],
  ask: AskPerson,
  isQuiet: boolean,
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
      if (!isYes(await ask("Do this? [y/N] "))) continue;
      const step = await done(world, fix);
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

/** Several checks may advise the same step. */
function distinct(checks: readonly Check[]): Fix[] {
  return [...new Map(checks.flatMap(({ fix }) => (fix === undefined ? [] : [[fix.does, fix]]))).values()];
}

async function done(
  world: ProcessContext,
  fix: Fix,
): Promise<{ readonly step: Step; readonly said: string }> {
  try {
    const said = await fix.work(world);
    return { step: { fix: fix.does }, said: said === "" ? "done" : said };
  } catch (error) {
    if (!(error instanceof LocalError) && !isSystemError(error)) throw error;
    const failed = errorText(error);
    return { step: { fix: fix.does, failed }, said: `this failed: ${failed}` };
  }
}
