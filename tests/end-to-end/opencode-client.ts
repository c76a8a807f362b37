/** OpenCode as its plugin sees it: the real plugin in this process, and a client that does nothing but remember. */
import { hooksFor } from "../../hooks/opencode/plugin/hooks.ts";
import type { Home } from "./daemon.ts";

type Hooks = Awaited<ReturnType<typeof hooksFor>>;

/** What the model of a call reads, or why the call did not run. */
export interface Called {
  readonly result?: string;
  readonly refused?: string;
}

let calls = 0;

export class OpenCode {
  /** Prompts that the plugin gave, by session. */
  readonly prompts: { readonly id: string; readonly text: string }[] = [];
  /** What the person was shown. */
  readonly toasts: string[] = [];
  /** Sessions that began before this process, with their parents. */
  readonly earlier = new Map<string, string | undefined>();
  #hooks: Hooks = {};
  #prompted: () => void = () => {};

  /** Starts the client in `directory`, with its own environment. */
  static async start(home: Home, directory: string = home.work, env: Record<string, string> = {}) {
    const it = new OpenCode();
    const client = {
      session: {
        get: async ({ path: { id } }: { path: { id: string } }) => {
          const parentID = it.earlier.get(id);
          return { data: parentID === undefined ? {} : { parentID } };
        },
        promptAsync: async (of: { path: { id: string }; body: { parts: object[] } }) => {
          const [part] = of.body.parts;
          it.prompts.push({ id: of.path.id, text: String(Reflect.get(part ?? {}, "text")) });
          it.#prompted();
        },
      },
      tui: { showToast: async (of: { body: { message: string } }) => it.toasts.push(of.body.message) },
    };
    it.#hooks = await hooksFor(
      { client, directory },
      {
        env: { ...home.environment, ...env },
        isScripted: false,
      },
    );
    return it;
  }

  /** Hands one recorded hook or event to the plugin, as the client does. */
  async hand(event: string, payload: Record<string, never>): Promise<void> {
    if (event.startsWith("event.")) return await this.#hooks.event?.({ event: payload as never });
    if (event === "dispose") return await this.#hooks.dispose?.();
    const hook = Reflect.get(this.#hooks, event);
    if (hook !== undefined) await hook(payload["input"], payload["output"]);
  }

  async bus(type: string, properties: object): Promise<void> {
    await this.#hooks.event?.({ event: { type, properties } });
  }

  /** A session begins; with `parent` it is that one's subagent. */
  async session(id: string, parent?: string): Promise<void> {
    const info = { id, ...(parent === undefined ? {} : { parentID: parent, agent: "general" }) };
    await this.bus("session.created", { sessionID: id, info });
  }

  /** A prompt begins a turn; returns what its model reads beside it. */
  async prompt(sessionID: string, text = "do it"): Promise<readonly string[]> {
    calls += 1;
    const parts: { id: string; type: string; text: string }[] = [{ id: `prt_${calls}`, type: "text", text }];
    await this.#hooks["chat.message"]?.({ sessionID }, { message: { id: `msg_${calls}` }, parts });
    return parts.slice(1).map(part => part.text);
  }

  /** Asks about a call and, if it may run, runs `does` and tells its end. */
  async call(sessionID: string, tool: string, args: object, does: () => void = () => {}): Promise<Called> {
    const asked = await this.ask(sessionID, tool, args);
    if (asked.refused !== undefined) return asked;
    does();
    return { result: await asked.end() };
  }

  /** Asks about a call; what may run goes on until `end` or `fail`. */
  async ask(sessionID: string, tool: string, args: object) {
    calls += 1;
    const call = { tool, sessionID, callID: `call_${calls}` };
    const given = { ...args };
    try {
      await this.#hooks["tool.execute.before"]?.(call, { args: given });
    } catch (error) {
      return { refused: error instanceof Error ? error.message : String(error), args: given, end, fail: end };
    }
    return {
      refused: undefined,
      args: given,
      end: async () => {
        const output = { output: "done" };
        await this.#hooks["tool.execute.after"]?.({ ...call, args: given }, output);
        return output.output;
      },
      fail: async () => {
        const state = { status: "error", input: given, error: "the file was not found" };
        await this.bus("message.part.updated", {
          ...{ sessionID, part: { type: "tool", tool, callID: call.callID, state } },
        });
        return "";
      },
    };
  }

  async env(sessionID: string): Promise<Record<string, string>> {
    const output = { env: {} };
    await this.#hooks["shell.env"]?.({ sessionID }, output);
    return output.env;
  }

  /** The turn is over. */
  async idle(sessionID: string): Promise<void> {
    await this.bus("session.idle", { sessionID });
  }

  async dispose(): Promise<void> {
    await this.#hooks.dispose?.();
  }

  /** Resolves with the plugin's next prompt. */
  async nextPrompt(): Promise<{ readonly id: string; readonly text: string }> {
    while (this.prompts.length === 0) await new Promise<void>(resolve => (this.#prompted = resolve));
    const [next] = this.prompts.splice(0, 1);
    if (next === undefined) throw new Error("no prompt");
    return next;
  }
}

async function end(): Promise<string> {
  throw new Error("the call did not run");
}
