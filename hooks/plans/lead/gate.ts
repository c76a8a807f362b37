/** Words what gates found missing: all of it at once, with an example that fits; the same once more in one line. */
import type { ShellUses } from "../../../protocol/guard.ts";
import type { GateFinding, GateName } from "../../../protocol/lead/roles.ts";
import { limits } from "../../../protocol/limits.ts";
import { nearPath, nearPathsIn, plain } from "../../../protocol/text.ts";
import type { GateOutcome } from "../../seam/lead/outcomes.ts";
import type { HookOutcome } from "../../seam/slices.ts";
import { type Answer, block, deny, withContext } from "../answers/answer.ts";
import { type Edit, type Edits, lineTool } from "../answers/lock.ts";
import { outcomeOf } from "../answers/outcome.ts";
import { declareBy, howToWrite, type Reader } from "../answers/reader.ts";
import type { Asking, Completion } from "../points.ts";

/** Longest sentence of a gate, in UTF-16 units. */
const sentenceChars = 600;

export const beforeWrite: Asking<Edit & { readonly isOwn: boolean }> = {
  did: "gate_write",
  asks: ({ file, cwd, isOwn }, actor) => ({ do: "gate_write", ...actor, file, cwd, isOwn }),
  answer: (edit, outcomes, rest) => withGate(edit, outcomeOf(outcomes, "gate_write"), rest),
};

export const beforeFiles: Asking<Reader & { readonly files: readonly string[] }> = {
  did: "gate_files",
  asks: ({ files, cwd }, actor) =>
    files.length === 0
      ? null
      : { do: "gate_files", ...actor, files: files.slice(0, limits.gatedFilesMax), cwd },
  answer: (reader, outcomes, rest) => {
    const found = outcomeOf(outcomes, "gate_files");
    return withGate({ ...reader, tool: lineTool, file: found?.file ?? "", waitMs: 0 }, found, rest);
  },
};

export const beforePatch: Asking<Edits> = {
  did: "gate_files",
  asks: ({ files, cwd }, actor) => ({
    do: "gate_files",
    ...actor,
    files: files.slice(0, limits.gatedFilesMax),
    cwd,
    hasNewFiles: true,
  }),
  answer: (edit, outcomes, rest) => {
    const found = outcomeOf(outcomes, "gate_files");
    return withGate({ ...edit, file: found?.file ?? edit.file }, found, rest);
  },
};

export const beforeShell: Asking<ShellUses & Reader> = {
  did: "gate_shell",
  asks: ({ cwd, uses, aliases }, actor) =>
    uses.length + aliases.length === 0 ? null : { do: "gate_shell", ...actor, cwd, uses, aliases },
  answer: withShellGate,
};

/** A denial by a gate, else the answer of the lock, with what gates warn of. */
function withGate(edit: Edit, found: GateOutcome | undefined, lock: () => Answer): Answer {
  if (found === undefined || found.verdict === "allow") return lock();
  const gated = near(found, edit);
  if (gated.verdict === "allow_with_note") return withContext(lock(), warning(edit, gated));
  const held = gated.findings.filter(({ mode }) => mode === "enforce");
  if (isOfRole(held)) return deny(`Kite: this ${edit.tool} did not run. ${findingsText(held)}.`);
  if (gated.isRepeated) {
    return deny(
      `Kite: this ${edit.tool} did not run, for the same reasons as before: ${fields(held)}. ${supply(edit)}`,
    );
  }
  return deny(
    [
      `Kite: this ${edit.tool} did not run. Before it, this project asks you for:`,
      ...form(edit, gated, held),
    ].join("\n"),
  );
}

/** A denial of a shell line by the agent's role, else the answer of the guard, with what the gate warns of. */
function withShellGate(reader: Reader, outcomes: readonly HookOutcome[], guard: () => Answer): Answer {
  const found = outcomeOf(outcomes, "gate_shell");
  if (found === undefined || found.verdict === "allow") return guard();
  const gated = near(found, reader);
  const text = findingsText(gated.findings);
  if (gated.verdict === "deny") return deny(`Kite: this command line did not run. ${text}.`);
  return withContext(guard(), `Kite: your command line runs. ${text}.`);
}

/** What gates found, with files named as the agent's directory has them, and the tool by which it writes to others. */
function near(gated: GateOutcome, reader: Reader): GateOutcome {
  const findings = gated.findings.map(finding => ({
    ...finding,
    missing: finding.missing.map(sentence =>
      nearPathsIn(sentence, reader.cwd).replace("(kite message send)", `(${howToWrite(reader)})`),
    ),
  }));
  return { ...gated, findings };
}

/** Whether only the agent's role is in the way: there is nothing to supply. */
function isOfRole(findings: readonly GateFinding[]): boolean {
  return findings.length > 0 && findings.every(({ gate }) => gate === "role");
}

function supply(reader: Reader): string {
  return `Supply them${declareBy(reader)} kite declare --example`;
}

/** The agent goes on instead of stopping. */
export const beforeStop: Asking<null> = {
  did: "gate_stop",
  asks: (_step, actor) => ({ do: "gate_stop", ...actor }),
  answer: (_step, outcomes, rest) => {
    const held = heldBack(outcomes, "gate_stop");
    if (held === null) return rest();
    return block(
      [
        `Kite: you stop on an error: ${findingsText(held.findings)}.`,
        "What to do: mend it and go on. If it does not matter, or you need your user, say so in your answer and stop again.",
      ].join("\n"),
    );
  },
};

/** The task is not completed. */
export const beforeCompletion: Asking<Completion> = {
  did: "gate_complete",
  asks: ({ cwd }, actor) => ({ do: "gate_complete", ...actor, cwd }),
  answer: (by, outcomes, rest) => {
    const reader = { ...by, cwd: by.cwd ?? "/" };
    const found = heldBack(outcomes, "gate_complete");
    if (found === null) return rest();
    const held = near(found, reader);
    if (held.isRepeated)
      return block(
        `Kite: the task is not completed, for the same reasons as before: ${fields(held.findings)}.`,
      );
    return block(
      ["Kite: the task is not completed yet. It needs:", ...list(held.findings), how(reader)].join("\n"),
    );
  },
};

function heldBack(outcomes: readonly HookOutcome[], did: GateOutcome["did"]): GateOutcome | null {
  const gated = outcomeOf(outcomes, did);
  return gated?.verdict === "deny" ? gated : null;
}

function how(reader: Reader): string {
  return `What to do: supply what is missing${declareBy(reader)} kite declare --help; then complete it again.`;
}

function warning(edit: Edit, gated: GateOutcome): string {
  return [
    `Kite: your ${edit.tool === lineTool ? lineTool : "edit"} runs. This project asks you for this, too:`,
    ...form(edit, gated, gated.findings),
  ].join("\n");
}

/** What is missing, and where a declaration helps, one that this agent may send for this file. */
function form(edit: Edit, { task }: GateOutcome, findings: readonly GateFinding[]): string[] {
  const isDeclared = findings.some(({ gate }) => gate !== "delegation" && gate !== "role");
  const example = [`Declare all of it in one call${declareBy(edit)}`, ...exampleFor(edit, task, findings)];
  return [...list(findings), ...(isDeclared ? example : [])];
}

function list(findings: readonly GateFinding[]): string[] {
  return findings.flatMap(({ missing }) => missing.map(sentence => `- ${plain(sentence, sentenceChars)}`));
}

function findingsText(findings: readonly GateFinding[]): string {
  return findings
    .flatMap(({ missing }) => missing.map(sentence => plain(sentence, sentenceChars)))
    .join("; ");
}

/** What is missing by the names of its fields. */
function fields(findings: readonly GateFinding[]): string {
  const names = findings.flatMap(({ missing }) =>
    missing.map(sentence => sentence.split(":", 1)[0] ?? sentence),
  );
  return [...new Set(names)].map(name => plain(name, sentenceChars)).join(", ");
}

/** A declaration of what is missing, for a shell, with room for the agent's own words. The task is the one that it claimed. */
function exampleFor({ file, cwd }: Edit, task: string | null, findings: readonly GateFinding[]): string[] {
  const text = (words: string) => JSON.stringify(plain(words, sentenceChars));
  const isMissing = (name: GateName) => findings.some(({ gate }) => gate === name);
  const understanding = `understanding: {task: ${text(task ?? "")}, confidence: , reason: "", plan: [""]}`;
  const codeView = `codeView: [{file: ${text(nearPath(file, cwd))}, sees: "", will: ""}]`;
  return [
    "kite declare - <<'EOF'",
    ...(isMissing("identity") ? ['identity: {role: ""}'] : []),
    ...(isMissing("understanding") ? [understanding] : []),
    ...(isMissing("codeView") ? [codeView] : []),
    "EOF",
  ];
}
