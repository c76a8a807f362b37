import { findsPlanted } from "./plant.ts";

findsPlanted("hooks");
