import { playPlanted } from "./planted-played.ts";

await playPlanted(0);
