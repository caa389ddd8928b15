package app

import "github.com/prometheus/client_golang/prometheus"

// Names of our configurations, as the metrics' label has them.
const (
	configQuota  = "quota"
	configPrices = "prices"
)

var (
	hashDesc = prometheus.NewDesc("wastenot_webhook_config_hash_info",
		"The hash of the configuration in force, as ledgers, decisions and prices bear it, empty for none; the value is always 1.", []string{"config", "hash"}, nil)
	errorDesc = prometheus.NewDesc("wastenot_webhook_config_error",
		"1 while the configuration as it is in the cluster is not in force.", []string{"config"}, nil)
	missingDesc = prometheus.NewDesc("wastenot_webhook_configuration_missing",
		"1 while the webhook configuration is not there or has no webhook of ours, so that the API server does not ask.", []string{"kind"}, nil)
	faultDesc = prometheus.NewDesc("wastenot_webhook_trust_error",
		"1 while the webhook configurations cannot be read or written; what was found before holds.", nil, nil)
	leaderDesc = prometheus.NewDesc("wastenot_webhook_leader",
		"1 for the replica that keeps the quota ledgers.", nil, nil)
	trustedDesc = prometheus.NewDesc("wastenot_webhook_trusted",
		"1 while the certificate that is served verifies against the webhook configurations.", nil, nil)
)

// collector shows the state of the service as metrics.
type collector struct{ service *service }

// Describe names the metrics.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{hashDesc, errorDesc, leaderDesc, trustedDesc, missingDesc, faultDesc} {
		out <- desc
	}
}

// Collect reads the state.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.service
	gauge := func(desc *prometheus.Desc, value bool, labels ...string) {
		number := 0.0
		if value {
			number = 1
		}
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, number, labels...)
	}
	gauge(hashDesc, true, configQuota, s.quota.Current().Hash())
	gauge(hashDesc, true, configPrices, s.prices.Current().Hash())
	gauge(errorDesc, s.quota.Err() != nil, configQuota)
	gauge(errorDesc, s.prices.Err() != nil, configPrices)
	gauge(leaderDesc, s.leading.Load())
	found := s.trust.last()
	gauge(trustedDesc, found.check() == nil)
	gauge(missingDesc, found.mutating.missing, kindMutating)
	gauge(missingDesc, found.validating.missing, kindValidating)
	gauge(faultDesc, found.fault != "")
}
