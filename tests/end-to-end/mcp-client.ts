/** The built MCP server under the official client. */

import { fileURLToPath } from "node:url";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Home } from "./daemon.ts";

const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));

/** What a tool said. */
export interface Told {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

export interface McpOptions {
  readonly name?: string;
  readonly cwd?: string;
  /** Beside those of the home. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it asks for the data of answers, as agents' clients do not. */
  readonly data?: boolean;
  /** A program that runs the server, whose command follows. */
  readonly through?: readonly string[];
  readonly mode?: NonNullable<ClientOptions["versionNegotiation"]>;
}

export interface CallOptions {
  /** As Claude Code names the tool use that a call is. */
  readonly toolUse?: string;
  /** What else another client says of a call. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: {
    readonly progress: number;
    readonly message?: string | undefined;
  }) => void;
}

/** One server process and its client. */
export class Mcp {
  readonly client: Client;
  readonly #transport: StdioClientTransport;

  static async start(home: Home, options: McpOptions = {}): Promise<Mcp> {
    const mcp = new Mcp(home, options);
    await mcp.client.connect(mcp.#transport);
    return mcp;
  }

  private constructor(
    home: Home,
    { name = "tester", cwd = home.work, env = {}, through = [], mode, data = true }: McpOptions,
  ) {
    const versionNegotiation = mode === undefined ? {} : { versionNegotiation: mode };
    const capabilities = data ? { experimental: { "kite/data": {} } } : {};
    this.client = new Client({ name, version: "1.0.0" }, { ...versionNegotiation, capabilities });
    const [command = "", ...args] = [...through, process.execPath, program, "mcp"];
    this.#transport = new StdioClientTransport({
      command,
      args,
      cwd,
      env: { ...home.environment, ...env },
    });
  }

  get pid(): number {
    const { pid } = this.#transport;
    if (pid === null) throw new Error("the server has not started");
    return pid;
  }

  async call(name: string, given: Record<string, unknown> = {}, options: CallOptions = {}): Promise<Told> {
    const { toolUse, meta, signal, onProgress } = options;
    const said = toolUse === undefined ? meta : { "claudecode/toolUseId": toolUse };
    const _meta = said === undefined ? {} : { _meta: said };
    const result = await this.client.callTool(
      { name, arguments: given, ..._meta },
      {
        ...(signal === undefined ? {} : { signal }),
        ...(onProgress === undefined ? {} : { onprogress: onProgress }),
      },
    );
    const [first] = result.content;
    const data: unknown = result.structuredContent ?? {};
    return {
      text: first?.type === "text" ? first.text : "",
      data: typeof data === "object" && data !== null ? { ...data } : {},
      isError: result.isError === true,
    };
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}
