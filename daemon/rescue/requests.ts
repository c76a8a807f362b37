/** rescue_state, rescue_purge, restore_begin, restore_end: what is kept, the removal of it, and the way back. */
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { RequestOf } from "../../protocol/schemas/requests.ts";
import type { RescueStateReply, rescueRequests } from "../../protocol/schemas/rescue.ts";
import type { HandlersOf } from "../requests/handler.ts";
import type { Call } from "../server/call.ts";
import { noteReply } from "../trail/decisions.ts";
import { beginRestore, endRestore, type Telling } from "./restores.ts";
import { isIn, pathsOf } from "./rows.ts";
import type { Rescue, RescueServices } from "./services.ts";

/** Where the setting is off the daemon does not know what is in the store. */
const purgeOff = refuse(
  "not_available",
  "the setting rescue is off, so nothing was removed; what Kite kept before is in ~/.kite/rescue: delete that folder",
);

/** The refusal where the setting is off. */
const rescueOff = refuse(
  "not_available",
  "Kite keeps no versions of files: the setting rescue is off; switch it on, then run kite down and kite up",
);

export const rescueHandlers: HandlersOf<typeof rescueRequests, RescueServices & Telling> = {
  rescue_state: ({ rescue }, _request, call) => {
    const ready = rescue?.archive.ready ?? Promise.resolve();
    call.alone(ready.then(() => call.reply(stateOf(rescue))));
    return undefined;
  },
  rescue_purge: (services, request, call) => {
    if (services.rescue === null) call.reply(purgeOff);
    else call.alone(purge(services, services.rescue, request, call));
    return undefined;
  },
  restore_begin: (services, request, call) => {
    if (services.rescue === null) call.reply(rescueOff);
    else call.alone(beginRestore(services, services.rescue, request, call));
    return undefined;
  },
  restore_end: (services, request, call) => {
    if (services.rescue === null) call.reply(rescueOff);
    else call.alone(endRestore(services, services.rescue, request, call));
    return undefined;
  },
};

function stateOf(rescue: Rescue | null): RescueStateReply {
  const bytesMax = limits.rescueStoreBytes;
  const none = { versions: 0, files: 0, bytes: 0, bytesMax, wipes: 0, waiting: 0, missed: 0, trouble: null };
  if (rescue === null) return { ok: true, on: false, ...none };
  const { archive, queue } = rescue;
  const { versions, wipes, trouble } = archive;
  const { size, files, bytes } = versions;
  const { atMs, ...damage } = archive.damage;
  const work = { waiting: rescue.waiting, missed: queue.missed, damage, trouble };
  return { ok: true, on: true, bytesMax, versions: size, files, bytes, wipes: wipes.size, ...work };
}

async function purge(
  services: RescueServices,
  { archive, settled }: Rescue,
  request: RequestOf<"rescue_purge">,
  call: Call,
): Promise<void> {
  await settled();
  const { before = Number.POSITIVE_INFINITY } = request;
  const paths = await pathsOf(services.facts, request.file);
  const { alsoIn, ...removed } = await archive.purge(
    ({ path, atMs }) => atMs < before && (paths === null || isIn(path, paths)),
  );
  const reply = { ok: true as const, ...removed, alsoIn: alsoIn.slice(0, limits.rescueNamedMax) };
  const what = `${removed.versions} versions, ${removed.contents} contents`;
  noteReply(services, "rescue_purge", null, reply, {
    file: request.file ?? null,
    why: `removed for good: ${what}`,
  });
  call.reply(reply);
}
