/** What it costs to read who acts at the end of a transcript, for clients that do not say. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import { likelySubagent } from "../../daemon/facts/processes.ts";
import { lifeFiles } from "../../hooks/claude-code/transcripts.ts";
import { limits } from "../../protocol/limits.ts";
import { figure, type Tables, table } from "./report.ts";

const rounds = 50;
/** A line of a transcript that the tail's bytes have room for. */
const lineBytes = Math.floor(limits.transcriptTailBytes / limits.transcriptTailLines);
/** As long as it takes at most: a look at the end of a file on a local disk. */
const lookMs = 20;

export async function* actor(): Tables {
  const dir = mkdtempSync(join(tmpdir(), "kite-bench-actor-"));
  try {
    const folder = join(dir, "projects", "p");
    mkdirSync(folder, { recursive: true });
    const transcript = join(folder, "s.jsonl");
    const outside = new BudgetedFs();
    const timesOf = async () => {
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const began = performance.now();
        const found = await likelySubagent(outside, [lifeFiles], { session: "s", transcript });
        times.push(performance.now() - began);
        if (found?.type !== "reviewer") throw new Error("the transcript's subagent was not found");
      }
      return times;
    };
    writeFileSync(transcript, tail());
    const small = await timesOf();
    truncateSync(transcript, 2 ** 30);
    appendFileSync(transcript, `\n${tail()}`);
    yield table(
      `who acts, by the last ${limits.transcriptTailLines} lines of a transcript, ${rounds} looks`,
      [
        figure("a transcript of 256 kB", small, { atMost: lookMs }, " ms"),
        figure("a transcript of 1 GB", await timesOf(), { atMost: lookMs }, " ms"),
      ],
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Full lines: a call that begins a subagent, and what that does. */
function tail(): string {
  const call = { type: "tool_use", id: "a", name: "Task", input: { subagent_type: "reviewer" } };
  const of = (block: object) => JSON.stringify({ type: "assistant", message: { content: [block] } });
  const text = of({ type: "text", text: "x".repeat(lineBytes - 100) });
  return `${[of(call), ...Array.from({ length: limits.transcriptTailLines - 2 }, () => text)].join("\n")}\n`;
}
