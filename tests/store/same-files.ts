/** Files that sessions of the machines write and do not commit: what another machine's session wrote, too, each of both shows. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { nodeOf } from "../../daemon/core/nodes/shared-ids.ts";
import type { SameFileRow } from "../../protocol/work.ts";
import type { Message } from "../end-to-end/daemon.ts";
import type { Random } from "../simulation/random.ts";
import { type Machine, within } from "./machines.ts";
import { Speaker } from "./operations.ts";
import type { Common } from "./workload.ts";

const files = ["w-1.txt", "w-2.txt", "w-3.txt"] as const;
const thinkMs = 250;
/** More rows than there can be. */
const limit = 1_000;

/** Writes files at a machine, in one session after the other. */
export class Writer {
  readonly machine: Machine;
  readonly #random: Random;
  readonly #common: Common;
  #speaker: Speaker | null = null;
  #sessions = 0;
  #uses = 0;
  /** What it has in its worktree, once the history is over. */
  readonly written = new Set<string>();

  constructor(machine: Machine, random: Random, common: Common) {
    this.machine = machine;
    this.#random = random;
    this.#common = common;
  }

  /** Writes and takes back until `isOver`; its last session stays. */
  async run(isOver: () => boolean): Promise<void> {
    let speaker = await this.#begin();
    while (!isOver()) {
      const file = this.#random.pick(files);
      if (this.#random.chance(0.6)) await this.#write(speaker, file);
      else this.#remove(file);
      await speaker.hookUntilHeard({ hook_event_name: "UserPromptSubmit", prompt: "go on" });
      if (this.#random.chance(0.1)) {
        speaker.hasEnded = true;
        await speaker.ask({ type: "deregister" });
        speaker.close();
        speaker = await this.#begin();
      }
      await delay(this.#random.int(0, thinkMs));
    }
  }

  /** Has these files and no others from now on; nothing disturbs it. */
  async have(wanted: readonly string[]): Promise<void> {
    const speaker = this.#speaker;
    if (speaker === null) throw new Error("it has not begun");
    for (const file of files) this.#remove(file);
    await speaker.hookUntilHeard({ hook_event_name: "UserPromptSubmit", prompt: "go on" });
    this.written.clear();
    for (const file of wanted) {
      if (!(await this.#write(speaker, file))) throw new Error(`a write of ${file} was denied`);
      this.written.add(file);
    }
    await speaker.hookUntilHeard({ hook_event_name: "Stop" });
  }

  async #begin(): Promise<Speaker> {
    this.#sessions += 1;
    const { index } = this.machine;
    const id = `writer.${this.#sessions}`;
    const speaker = new Speaker(this.machine, id, `${id}-of-${index}`, this.#common.history);
    await speaker.ask({ type: "register", cwd: this.machine.clone, name: speaker.name });
    this.#common.speakers.push(speaker);
    this.#speaker = speaker;
    return speaker;
  }

  /** Writes the file with a tool. Returns whether the tool was let through. */
  async #write(speaker: Speaker, file: string): Promise<boolean> {
    this.#uses += 1;
    const path = join(this.machine.clone, file);
    const tool = {
      tool_name: "Write",
      tool_use_id: `write-${this.#uses}`,
      tool_input: { file_path: path, content: speaker.name },
    };
    const { output } = await speaker.hookUntilHeard({ ...tool, hook_event_name: "PreToolUse" });
    if (String(output ?? "").includes('"deny"')) return false;
    writeFileSync(path, speaker.name);
    await speaker.hookUntilHeard({ ...tool, hook_event_name: "PostToolUse", tool_response: {} });
    return true;
  }

  #remove(file: string): void {
    rmSync(join(this.machine.clone, file), { force: true });
  }
}

/** Has the writers write some files, all being well. Yields what their machines do not show of these after `ms`. */
export async function faultsOfSameFiles(
  writers: readonly Writer[],
  random: Random,
  ms: number,
): Promise<string[]> {
  for (const writer of writers) await writer.have(files.filter(() => random.chance(0.6)));
  return faultsOfShown(writers, ms);
}

/** Has them take all back. Yields what is shown still after `ms`. */
export async function faultsOfNoFiles(writers: readonly Writer[], ms: number): Promise<string[]> {
  for (const writer of writers) await writer.have([]);
  return faultsOfShown(writers, ms);
}

/** Waits until each machine shows what others wrote, too. Returns a sentence for each that does not. */
export async function faultsOfShown(writers: readonly Writer[], ms: number): Promise<string[]> {
  let wrong: string[] = [];
  const isShown = async () => {
    wrong = [];
    for (const mine of writers) {
      const [shown, is] = [await shownAt(mine.machine), wantedAt(mine, writers)];
      if (shown.join(", ") !== is.join(", "))
        wrong.push(`machine ${mine.machine.index} shows the same files ${shown}; they are ${is}`);
    }
    return wrong.length === 0;
  };
  await within(isShown, ms);
  return wrong;
}

/** Returns what the machine shows: the file, and the node of the other side. */
async function shownAt(machine: Machine): Promise<string[]> {
  const client = await machine.connect();
  const reply: Message = await client.ask({
    type: "query",
    target: "same_files",
    project: machine.clone,
    limit,
  });
  client.destroy();
  const rows = (reply["rows"] ?? []) as readonly SameFileRow[];
  return rows.map(({ file, sides: [, { id }] }) => `${file} of ${nodeOf(id)}`).sort();
}

function wantedAt(mine: Writer, writers: readonly Writer[]): string[] {
  return writers
    .filter(one => one !== mine)
    .flatMap(({ written, machine: { node } }) =>
      [...written].filter(file => mine.written.has(file)).map(file => `${file} of ${node}`),
    )
    .sort();
}
