/** What a hook's whole process costs, against a Node that does nothing. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "./measure.ts";
import { Bench } from "./processes.ts";
import { figure, plain, print } from "./report.ts";

const rounds = 60;

export async function hook(program: string, fixtures: string): Promise<void> {
  const bench = new Bench();
  try {
    const cwd = bench.repository();
    const home = join(bench.dir, "home");
    await bench.start("kite-daemon", [home, "file"]);
    const recorded: object = JSON.parse(readFileSync(join(fixtures, "PreToolUse--Write.json"), "utf8"));
    const file = join(cwd, "src", "part-0", "file-0.ts");
    const input = JSON.stringify({ ...recorded, cwd, tool_input: { file_path: file, content: "hello\n" } });
    const once = (args: readonly string[], kiteHome: string) => {
      const env = { PATH: process.env["PATH"], KITE_HOME: kiteHome };
      const began = performance.now();
      const { status, stderr } = spawnSync(process.execPath, [...args], { env, input });
      const ms = performance.now() - began;
      if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
      return ms;
    };
    const ms = { nothing: [] as number[], absent: [] as number[], present: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      ms.nothing.push(once(["-e", "0"], home));
      ms.absent.push(once([program], join(bench.dir, "nowhere")));
      ms.present.push(once([program], home));
    }
    const nothing = median(ms.nothing);
    print(`the whole process of a hook, ${rounds} rounds interleaved`, [
      plain("node -e 0", nothing, " ms"),
      plain("hook without a daemon", median(ms.absent), " ms"),
      plain("hook before a write, daemon present", median(ms.present), " ms"),
      figure("without a daemon / node -e 0", median(ms.absent) / nothing, { atMost: 1.35 }),
      figure("daemon present / node -e 0", median(ms.present) / nothing, { atMost: 1.35 }),
    ]);
  } finally {
    await bench.end();
  }
}
