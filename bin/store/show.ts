/** `kite store`: the store, its machines, and the shared projects. */
import type { StoreNodeRow, StoreRow, StoreShowReply } from "../../protocol/schemas/store.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { ask, printShown, withDaemon } from "../context/with-daemon.ts";
import { tilde } from "../view/places.ts";
import { storelessText, storeText } from "../view/store.ts";
import { clean, counted, duration, type Screen, table, wrap } from "../view/text.ts";

/** Returns the exit code. */
export function showStore(world: ProcessContext, json: boolean): Promise<number> {
  return withDaemon(world, json, async client => {
    const reply = await ask(client, "store_show", { cwd: world.cwd });
    const { store, nodes, projects, local } = reply;
    return printShown(world, json, { store, nodes, projects, local }, screen => lines(reply, screen));
  });
}

function lines({ store, nodes, projects, local }: StoreShowReply, screen: Screen): string[] {
  const { home, width } = screen;
  const shared = projects.map(({ project, as }) => `${clean(tilde(project, home))}  ${clean(as)}`);
  if (store === null && projects.length > 0)
    return [...wrap(storelessText, width), ...section("Shared before", shared)];
  if (store === null)
    return wrap("No store is set: this machine shares nothing. To share: kite store join URL", width);
  const here = local.map(({ project, name, why }) =>
    clean(
      name === null
        ? (why ?? "")
        : `${tilde(project, home)} is not shared; its name is ${name}: kite store share`,
    ),
  );
  return [
    ...wrap(headLine(store, screen), width),
    ...section("Machines", nodeTable(nodes, screen)),
    ...section("Shared projects", shared.length === 0 ? ["none: kite store share"] : shared),
    ...section(
      "On this machine alone",
      here.flatMap(line => wrap(line, width - 2)),
    ),
  ];
}

function headLine(store: StoreRow, screen: Screen): string {
  const { where, machine, node } = store;
  const state = storeText(store, screen.now);
  const who = machine === null ? `node ${node.slice(0, 8)}` : `${clean(machine)}, node ${node.slice(0, 8)}`;
  return `${clean(where)}: ${state ?? "open"}. This machine is ${who}`;
}

function nodeTable(nodes: readonly StoreNodeRow[], screen: Screen): string[] {
  const rows = nodes.map(({ machine, isThis, is, renewedAgoMs, level, sessions }) => [
    clean(isThis ? `${machine} (this one)` : machine),
    is === "here" ? "here" : `${is} for ${duration(renewedAgoMs)}`,
    counted(sessions, "session"),
    `rules ${level}`,
  ]);
  return table(rows, [{ min: 8, max: 40 }, { min: 4 }, { min: 4 }, { min: 4 }], screen, 2);
}

function section(title: string, body: readonly string[]): string[] {
  return body.length === 0 ? [] : ["", title, ...body.map(line => `  ${line.trimStart()}`)];
}
