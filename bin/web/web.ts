/** `kite web`: a page of what the daemon knows. */
import { LocalError } from "../../client/errors.ts";
import { ensureDaemon } from "../../client/launch.ts";
import { readPersonToken } from "../../daemon/instance/socket.ts";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import type { Commands } from "../entry.ts";
import { interrupted, type ProcessContext, print, printJson } from "../process-context.ts";
import { daemonProgram } from "../program-paths.ts";
import { clean } from "../view/text.ts";
import { exitCodes, fail } from "../with-daemon.ts";
import { bounds } from "./bounds.ts";
import { answersOf } from "./server/answers.ts";
import { pageFiles } from "./server/assets.ts";
import { doDeed } from "./server/deeds.ts";
import { PageServer } from "./server/http.ts";
import { Live } from "./server/live.ts";
import { OpenedFile } from "./server/opened-file.ts";
import { viewerOf } from "./viewer.ts";

export interface WebFlags {
  readonly port?: string;
  readonly open?: boolean;
  readonly project?: string;
  readonly json?: boolean;
}

/** Serves the page until a person or the system ends this process. Returns the exit code. */
export async function web(world: ProcessContext, flags: WebFlags, commands: Commands): Promise<number> {
  const json = flags.json === true;
  const port = flags.port === undefined ? 0 : portIn(flags.port);
  if (Number.isNaN(port)) return fail(world, json, "usage", `--port takes 0 to 65535, not ${flags.port}`);
  const { client } = await ensureDaemon({
    paths: world.paths,
    daemonProgram,
    env: world.env,
    name: "kite web",
  });
  client.close();
  // A new daemon has made the token by which Kite knows a person.
  const viewer = await viewerOf(world, flags.project);
  if (viewer === null)
    return fail(world, json, "usage", "an agent's page shows its project: run it inside one");
  const onTrouble = (error: unknown) =>
    void world.stderr.write(`kite: the page: ${clean(errorText(error))}\n`);
  const person = viewer.isPerson ? readPersonToken(world.paths.personToken) : null;
  const connect = () =>
    world.connect({
      name: "kite web",
      reconnect: false,
      onlooker: true,
      ...(person === null ? {} : { person }),
    });
  const live = new Live(world, viewer, { connect, onTrouble });
  const server = new PageServer(
    {
      ...pageFiles(),
      live,
      answers: answersOf(world, viewer, commands),
      act: viewer.isPerson ? deed => doDeed(world, commands, deed) : null,
      onTrouble,
    },
    world.now,
  );
  const until = interrupted();
  await listen(server, port);
  const opened = flags.open === true ? new OpenedFile(world.paths.home) : null;
  const stopKeys = world.keys?.(key => {
    if (key === "\u0003" || key === "q") process.kill(process.pid, "SIGINT");
    else if (key === "\r" || key === "\n") print(world, [server.address()]);
  });
  try {
    if (opened === null) tell(world, server.address(), server, json);
    else {
      const failed = () => print(world, ["no browser opened the page; open it yourself:", server.address()]);
      await opened.open(server.address(), world, json ? () => {} : failed);
      tell(world, `http://127.0.0.1:${server.port}/`, server, json);
    }
    await new Promise<void>(resolve => {
      if (until.aborted) resolve();
      until.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    stopKeys?.();
    opened?.remove();
    await server.close();
  }
  return exitCodes.done;
}

/** Says where the page is; opened in a browser it needs no code. */
function tell(world: ProcessContext, address: string, { port }: PageServer, json: boolean): void {
  if (json) printJson(world, { ok: true, address, port });
  else print(world, [address, hint(world)]);
}

function hint(world: ProcessContext): string {
  const keys = world.keys === undefined ? "" : "; Enter prints another one";
  return `an address works once, within ${bounds.codeMs / 1000} s${keys}; Ctrl-C ends the page`;
}

function portIn(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 ? port : Number.NaN;
}

/**
 * Listens on the port; 0: any. No port is Kite's own: a program that had it before could have left a service worker in the
 * person's browser, which sees all that a page of the same port does.
 */
async function listen(server: PageServer, port: number): Promise<void> {
  try {
    await server.listen(port);
  } catch (error) {
    if (!isSystemError(error) || error.code !== "EADDRINUSE") throw error;
    throw new PortTaken(port);
  }
}

class PortTaken extends LocalError {
  override readonly name = "PortTaken";

  constructor(port: number) {
    super(`another program has port ${port}; leave --port out, and Kite takes a free one`);
  }
}
