/** Names of two words, for sessions that neither a person nor their client named. */

const kinds =
  "amber bold brave bright brisk calm clear clever cool crisp dawn deep eager early easy fair fast fine firm fond free fresh glad gold grand green happy hardy honest jolly keen kind light lively lucky merry mild misty neat noble plain proud pure quick quiet rapid rare ready rosy rusty sharp silent silver smart snowy solid sunny swift tidy warm wide wild wise witty young".split(
    " ",
  );
const things =
  "badger beaver bison camel cedar comet coral crane crow daisy dingo eagle ember falcon fern finch fjord fox gecko geyser goose harbor hare hawk hazel heron ibis iris ivy jaguar koala lark lemur lily lynx maple marten moose moth newt oak olive orca osprey otter owl panda pebble pine puffin quail raven river robin salmon seal sparrow spruce stork swan tiger trout tulip walrus willow wolf wren yak zebra".split(
    " ",
  );

/** Yields `max` pairs such as `calm-otter`, always the same for an id, of which the first that is free is its name. */
export function* pairsFor(id: string, max: number): Generator<string, void> {
  // FNV-1a: ids that differ little get pairs that differ in both words.
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  const all = kinds.length * things.length;
  for (let i = 0; i < max; i += 1) {
    const n = (hash + i * 1_009) % all;
    yield `${kinds[n % kinds.length]}-${things[Math.floor(n / kinds.length)]}`;
  }
}
