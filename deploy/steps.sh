#!/bin/sh
# Runs the steps of the Dockerfile without Docker, and tries the result (see deploy/steps.ts).
cd "$(dirname "$0")/.." && exec node_modules/.bin/node deploy/steps.ts
