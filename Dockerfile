# Images of what `make build` put into bin/. The binaries are static, so an image holds nothing else.
#
#   docker build --target telemetry -t REGISTRY/wastenot-telemetry:TAG .
#   docker build --target webhook -t REGISTRY/wastenot-webhook:TAG .
#   docker build --target scheduler -t REGISTRY/wastenot-scheduler:TAG .

FROM scratch AS telemetry
COPY bin/wastenot-telemetry /wastenot-telemetry
USER 65532:65532
ENTRYPOINT ["/wastenot-telemetry"]

FROM scratch AS webhook
COPY bin/wastenot-webhook /wastenot-webhook
USER 65532:65532
ENTRYPOINT ["/wastenot-webhook"]

FROM scratch AS scheduler
COPY bin/wastenot-scheduler /wastenot-scheduler
USER 65532:65532
ENTRYPOINT ["/wastenot-scheduler"]
