/** What the table of gates costs an event: processor time of all its rules, at the bounds of a declaration. */

import type { CompletionFacts, StopFacts, WriteFacts } from "../../daemon/core/lead/gates.ts";
import { beforeCompletion, beforeStop, beforeWrite } from "../../daemon/core/lead/gates.ts";
import type { Declaration } from "../../daemon/core/tables/declarations.ts";
import { gatePresets } from "../../protocol/lead/roles.ts";
import { limits } from "../../protocol/limits.ts";
import { median } from "./measure.ts";
import { figure, type Tables, table } from "./report.ts";

const events = 20_000;
const rounds = 7;
const mostUs = 20;

export async function* gates(): Tables {
  const { strict } = gatePresets;
  const declaration = fullDeclaration();
  const last = declaration.files.at(-1);
  if (last === undefined) throw new Error("nothing is declared");
  const role = { role: "implementer", by: "default", name: "ann", others: [] } as const;
  const write: WriteFacts = { declaration, lead: null, role, file: { ...last, isCode: true, isTest: false } };
  const bare: WriteFacts = { ...write, declaration: undefined };
  const stop: StopFacts = { failure: { tool: "Bash", error: "Exit code 3" } };
  const done: CompletionFacts = {
    declaration,
    checks: [{ name: "unit", state: "red" }],
    worktree: "/home/dev/shop",
    unseen: null,
    checksChanged: true,
    openDebate: null,
  };
  yield table("gates: the whole table, processor time an event", [
    figure(
      "a write, all declared",
      cost(() => beforeWrite(strict, write)),
      { atMost: mostUs },
      " us",
    ),
    figure(
      "a write, nothing declared",
      cost(() => beforeWrite(strict, bare)),
      { atMost: mostUs },
      " us",
    ),
    figure(
      "a stop on an error",
      cost(() => beforeStop(strict, stop)),
      { atMost: mostUs },
      " us",
    ),
    figure(
      "a task that is done",
      cost(() => beforeCompletion(strict, done)),
      { atMost: mostUs },
      " us",
    ),
  ]);
}

/** Microseconds of processor time of one call. */
function cost(ask: () => readonly unknown[]): number {
  const samples: number[] = [];
  let found = 0;
  for (let round = 0; round < rounds; round += 1) {
    const began = process.cpuUsage();
    for (let n = 0; n < events; n += 1) found += ask().length;
    const { user, system } = process.cpuUsage(began);
    samples.push((user + system) / events);
  }
  if (found < 0) throw new Error("the gates were not asked");
  return median(samples);
}

function fullDeclaration(): Declaration {
  const words = "what is there now and what will be done about it. ".repeat(4);
  const files = Array.from({ length: limits.declaredFilesMax }, (_, n) => {
    const path = `/project/src/module-${n}/file.ts`;
    return { key: `local:${path}`, path, dir: false, sees: words, will: words, touched: true };
  });
  const uncertainties = Array.from({ length: limits.uncertaintiesMax }, (_, n) => ({
    ...{ question: `question ${n}?`, settledBy: "a test", evidence: "the test", resolved: true },
  }));
  const plan = Array.from({ length: limits.planStepsMax }, () => words);
  return {
    ...{ session: "s", agent: null, name: "s", project: "/project", ancestors: [] },
    ...{ role: "implementer", team: "", task: words, confidence: 0.5, reason: words, plan },
    ...{ files, uncertainties, mismatches: [], declaredAt: 0, updatedAt: 0, endedAt: null },
  };
}
