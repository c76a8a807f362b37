/** What the gates of roles and of quality say before an agent creates tasks, or calls one done. */
import { refuse } from "../../../protocol/codes.ts";
import type { GateFinding } from "../../../protocol/lead/roles.ts";
import type { TaskGate } from "../../requests/task-gate.ts";
import { creationFindings } from "../roles/facts.ts";
import type { LeadServices } from "../services.ts";
import { completionFindings, fieldsOf } from "./quality.ts";

export const roleGate: TaskGate<LeadServices> = {
  ask: (services, by, step) => {
    const asked = step === "create" ? creationFindings(services, by) : null;
    if (asked === null) return null;
    return asked.then(findings => {
      const missing = missingOf(findings, "enforce");
      if (missing.length === 0) return { warnings: missingOf(findings, "warn"), refusal: null, line: null };
      const refusal = refuse("role_limit", missing.join("; "));
      return { warnings: [], refusal, line: { rule: "role", why: "the agent's role does not allow it" } };
    });
  },
};

export const qualityGate: TaskGate<LeadServices> = {
  ask: (services, by, step) => {
    if (step === "create") return null;
    return completionFindings(services, by, step.task, step.cwd).then(findings => {
      const missing = missingOf(findings, "enforce");
      const rule = "quality";
      if (missing.length > 0) {
        const refusal = refuse("not_complete", `${step.what}: ${missing.join("; ")}`, { missing });
        return { warnings: [], refusal, line: { rule, why: `missing: ${fieldsOf(missing)}` } };
      }
      const warnings = missingOf(findings, "warn");
      const why = `passed with a warning: ${fieldsOf(warnings)}`;
      return { warnings, refusal: null, line: warnings.length === 0 ? null : { rule, why } };
    });
  },
};

function missingOf(findings: readonly GateFinding[], mode: GateFinding["mode"]): string[] {
  return findings.filter(found => found.mode === mode).flatMap(({ missing }) => missing);
}
