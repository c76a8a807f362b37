/** The output of `kite doctor`. */
import type { AskPerson } from "../ask-person.ts";
import type { ProcessContext } from "../process-context.ts";
import { paint, type Style } from "./color.ts";
import { clean, pad, type Screen, wrap } from "./text.ts";

/** One check of `kite doctor` and its result. */
export interface Check {
  /** The check's name, one or two words; the same in every version. */
  readonly check: string;
  readonly result: "ok" | "warn" | "fail";
  /** What the check found. */
  readonly detail: string;
  /** What the person can do about it. */
  readonly todo?: string;
  /** Does what `todo` says; absent if that takes a person. */
  readonly fix?: Fix;
}

/** A step that mends what a check found. */
export interface Fix {
  /** The step as the question names it: shell lines, or a sentence. */
  readonly does: string;
  /** An agent may do it: it gives up nothing that is stored, and changes nothing for other projects. */
  readonly byAgents?: boolean;
  /** It gives up what is stored: only a person's answer to the question does it, and no `--yes`. */
  readonly givesUp?: boolean;
  /**
   * Throws `LocalError` if the step failed. Returns what the step printed. `ask` asks the person; null: `--yes` answered.
   */
  readonly work: (world: ProcessContext, ask: AskPerson | null) => string | Promise<string>;
}

const styles: Readonly<Record<Check["result"], Style>> = { ok: "green", warn: "yellow", fail: "red" };
const checkColumns = 13;
const indent = 6 + checkColumns;

/** Returns a check as lines: result, name and detail, and below them what to do. */
export function checkLines({ check, result, detail, todo }: Check, screen: Screen): string[] {
  const head = `${pad(result, 4)}  ${pad(clean(check), checkColumns)}`;
  const [first = "", ...rest] = wrap(`${head}${clean(detail)}`, screen.width, indent);
  const lines = [paint(screen, styles[result], first.slice(0, 4)) + first.slice(4), ...rest];
  if (todo === undefined) return lines;
  const margin = " ".repeat(indent);
  const room = Math.max(10, screen.width - indent);
  return [...lines, ...wrap(`-> ${clean(todo)}`, room, 3).map(line => margin + line)];
}

/** The last line of `kite doctor`. */
export function verdict(checks: readonly Check[], screen: Screen): string {
  const failed = checks.filter(c => c.result === "fail").length;
  const warned = checks.filter(c => c.result === "warn").length;
  if (failed > 0)
    return paint(screen, "red", `${failed} failed${warned > 0 ? `, ${warned} to look at` : ""}`);
  return warned > 0 ? paint(screen, "yellow", `${warned} to look at`) : paint(screen, "green", "all is well");
}
