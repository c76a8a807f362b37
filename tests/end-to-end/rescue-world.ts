/** A daemon in this process with the real adapter, and agents whose writes it keeps. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import type { DaemonOptions } from "../../daemon/options.ts";
import { claudeCode } from "../../hooks/claude-code/adapter.ts";
import type { UnkeptRow, VersionRow, WipeRow } from "../../protocol/schemas/rescue.ts";
import { GuardWorld } from "./guard-world.ts";

let uses = 0;

export class RescueWorld extends GuardWorld {
  readonly #more: Pick<DaemonOptions, "outside" | "git">;

  constructor(more: Pick<DaemonOptions, "outside" | "git"> = {}) {
    super();
    this.#more = more;
  }

  override async start(): Promise<void> {
    await super.start("deny", claudeCode, this.#more);
  }

  /** The payload of a call of the tool. */
  call(tool: string, tool_input: object, tool_response: object = {}): object {
    uses += 1;
    return { tool_name: tool, tool_input, tool_response, tool_use_id: `toolu_${uses}` };
  }

  /** An agent writes a file with a tool, as its client tells it: before, then, after. */
  async write(session: string, dir: string, file: string, text: string): Promise<void> {
    const path = join(dir, file);
    const call = this.call("Write", { file_path: path, content: text }, { filePath: path, content: text });
    await this.event(session, dir, { hook_event_name: "PreToolUse", ...call });
    this.put(dir, file, text);
    await this.event(session, dir, { hook_event_name: "PostToolUse", ...call });
    await this.settled();
  }

  /** Resolves when all that was written is kept. */
  async settled(): Promise<void> {
    const client = await this.person();
    for (;;) {
      // Its answer waits for that, but not for ever.
      await client.ask({ type: "query", target: "versions", limit: 1 });
      const { waiting } = await client.ask({ type: "rescue_state" });
      if (waiting === 0 || waiting === undefined) break;
    }
    client.destroy();
  }

  /** An agent runs a shell line; `does` is what the line does. */
  async line(session: string, dir: string, command: string, does: () => void): Promise<string> {
    const call = this.call("Bash", { command });
    const said = await this.event(session, dir, { hook_event_name: "PreToolUse", ...call });
    if (said.includes('"deny"')) return said;
    does();
    await this.event(session, dir, { hook_event_name: "PostToolUse", duration_ms: 1, ...call });
    await this.settled();
    return said;
  }

  /** The rows of a target, as a person sees them. */
  async rows<Row>(target: string, fields: object = {}): Promise<readonly Row[]> {
    const client = await this.person();
    const reply = await client.ask({ type: "query", target, ...fields });
    client.destroy();
    if (reply["ok"] !== true) throw new Error(JSON.stringify(reply));
    return reply["rows"] as Row[];
  }

  versions(fields: object = {}): Promise<readonly VersionRow[]> {
    return this.rows("versions", fields);
  }

  async wipes(fields: object = {}): Promise<readonly WipeRow[]> {
    await this.settled();
    return this.rows("wipes", fields);
  }

  unkept(fields: object = {}): Promise<readonly UnkeptRow[]> {
    return this.rows("unkept", fields);
  }

  /** The contents of the versions, the latest first. */
  async texts(fields: object = {}): Promise<readonly string[]> {
    return (await this.versions(fields)).map(({ object }) =>
      object === null ? "gone" : inflateSync(readFileSync(object)).toString(),
    );
  }

  /** Everything below the store's folder, as it is on the disk and inflated. */
  stored(): string {
    const pieces: string[] = [];
    for (const entry of readdirSync(this.paths.rescue, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = readFileSync(join(entry.parentPath, entry.name));
      pieces.push(bytes.toString("latin1"));
      if (entry.parentPath.includes("objects")) pieces.push(inflateSync(bytes).toString("latin1"));
    }
    return pieces.join("\n");
  }
}
