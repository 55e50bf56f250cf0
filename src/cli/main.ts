#!/usr/bin/env node
import { Output } from './output.ts';
import { runCli } from './program.ts';

process.exitCode = await runCli(process.argv.slice(2), new Output(process.stdout, process.stderr, process.env));
