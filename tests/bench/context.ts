/** What Kite's answers to hooks cost a model: characters per event of recorded sessions, alone and beside others. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { Bench } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { shownOf } from "./shown.ts";
import { ask } from "./talk.ts";
import { sessionId } from "./wire-words.ts";

/** Other sessions of the same project, each with a lock. */
const others = 12;

interface Payload {
  readonly hook_event_name: string;
  readonly [field: string]: unknown;
}

/** `fixtures` is the folder of the recorded sequences. */
export async function* context(fixtures: string): Tables {
  const names = readdirSync(fixtures).filter(name => /^sequence-.*\.ndjson$/.test(name));
  for (const beside of [0, others]) {
    const starts: number[] = [];
    const figures: ReturnType<typeof plain>[] = [];
    let [events, characters] = [0, 0];
    for (const name of names) {
      const told = await replayed(join(fixtures, name), beside);
      const sum = told.reduce((all, { length }) => all + length, 0);
      // Teammates start beside their lead: only the first session of a sequence may be alone.
      const began = told.filter(({ event }) => event === "SessionStart");
      starts.push(...(beside === 0 ? began.slice(0, 1) : began).map(({ length }) => length));
      figures.push(plain(name.slice("sequence-".length, -".ndjson".length), sum / told.length));
      events += told.length;
      characters += sum;
    }
    const most = Math.max(...starts);
    yield table(`characters per event, ${beside === 0 ? "alone" : `beside ${beside} sessions`}`, [
      ...figures,
      plain(`all ${events} events`, characters / events),
      figure(beside === 0 ? "the longest first start" : "the longest start", most, {
        atMost: beside === 0 ? 0 : limits.startChars,
      }),
    ]);
  }
}

interface Told {
  readonly event: string;
  /** UTF-16 units of what the client shows the model. */
  readonly length: number;
}

async function replayed(path: string, beside: number): Promise<readonly Told[]> {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const home = join(bench.dir, "home");
    await bench.start("kite-daemon", [home, "file"]);
    const socket = join(home, "kite.sock");
    const sessions = Array.from({ length: beside }, (_, n) => sessionId(n));
    await ask(
      socket,
      sessions.flatMap((id, n) => [
        { type: "register", id, cwd, pid: process.pid },
        { type: "file_lock", id, file: join(cwd, "src", `part-0/file-${n}.ts`) },
      ]),
    );
    const lines = readFileSync(path, "utf8").replaceAll(/\/home\/(?:dev\/project|ana\/shop)/g, cwd);
    const payloads: Payload[] = lines
      .trim()
      .split("\n")
      .map(line => JSON.parse(line).payload);
    const told: Told[] = [];
    for (const event of payloads) {
      const [reply = {}] = await ask(socket, [{ type: "hook", event, ppid: process.pid }]);
      told.push({ event: event.hook_event_name, length: shownOf(reply).length });
    }
    return told;
  } finally {
    await bench.end();
  }
}
